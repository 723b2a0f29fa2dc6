"""Writes help: of a command or an action only what it takes, a line an option, so that it fits a screen of 80 by 40."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from console_app.command_line.commands import COMMANDS, CONSOLE, EXIT_CODES, CommandSpec
from console_app.command_line.flags import Flag

_COLUMN = 32  # where the explanations begin
# The options that the first screen names; the others are those of `fanout run`.
_FIRST = (
    "--model",
    "--base-url",
    "--continue",
    "--resume",
    "--approval-mode",
    "--cwd",
    "--version",
)


def program(command: CommandSpec, action: CommandSpec | None = None) -> str:
    """Return the words that are typed, as `fanout mcp list`."""
    return " ".join(part for part in ("fanout", command.name, action.name if action else "") if part)


def usage(command: CommandSpec, action: CommandSpec | None = None) -> str:
    """Return the line that shows how a command is typed."""
    shown = action or command
    if shown is CONSOLE:
        return 'fanout [options] ["PROMPT" | -- PROMPT]   or   fanout COMMAND ...'
    if shown.actions:
        return f"{program(command)} ACTION [options]"
    parts = [program(command, action), "[options]"[: 9 * bool(shown.flags)]]
    if shown.words is not None:
        several = " ..." if shown.words.most is None and shown.words.listed else ""
        word = f"{shown.words.metavar}{several}"
        parts.append(word if shown.words.least else f"[{word}]")
    return " ".join(part for part in parts if part)


def help_of(command: CommandSpec, action: CommandSpec | None = None) -> str:
    return "\n".join(_console_lines() if command is CONSOLE else _lines(command, action)) + "\n"


def option(flag: Flag) -> str:
    """Return an option as it is typed, short name first: `-m, --model PROVIDER/MODEL`."""
    names = ", ".join(flag.names)
    return f"{'' if flag.names[0][1] != '-' else '    '}{names}{' ' * bool(flag.metavar)}{flag.metavar}"


def _lines(command: CommandSpec, action: CommandSpec | None) -> Iterator[str]:
    shown = action or command
    yield f"usage: {usage(command, action)}"
    yield ""
    yield f"{shown.about[:1].upper()}{shown.about[1:]}."
    if shown.words is not None and shown.words.help:
        yield ""
        yield _row(shown.words.metavar, shown.words.help)
    if shown.actions:
        yield ""
        yield f"actions ({program(command)} ACTION --help says more):"
        yield from _columns((one.name, one.about) for one in shown.actions)
    if shown.flags:
        yield ""
        yield "options:"
        yield from (_row(option(flag), flag.help) for flag in shown.flags)
    if shown.notes:
        yield ""
        yield from (f"  {note}" for note in shown.notes)


def _console_lines() -> Iterator[str]:
    yield f"usage: {usage(CONSOLE)}"
    yield ""
    yield CONSOLE.about
    yield ""
    yield "commands (fanout COMMAND --help says more):"
    yield from _columns((one.name, one.about) for one in COMMANDS.values())
    yield ""
    yield "options (and all of fanout run --help):"
    named = {name: flag for flag in CONSOLE.flags for name in flag.names}
    yield from (_row(option(named[name]), named[name].help) for name in _FIRST)
    yield ""
    yield "examples:"
    yield from (f"  {note}" for note in CONSOLE.notes)
    yield ""
    yield from _exit_codes()


def _exit_codes() -> Iterator[str]:
    line = "exit codes:"
    for code, meaning in EXIT_CODES:
        entry = f" {code} {meaning}{'' if code == EXIT_CODES[-1][0] else ','}"
        if len(line) + len(entry) > 80:
            yield line
            line = " " * 11
        line += entry
    yield line


def _columns(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    yield from (f"  {name:<12}{about}" for name, about in rows)


def _row(left: str, right: str) -> str:
    gap = "" if len(left) < _COLUMN - 2 else "\n" + " " * (_COLUMN + 2)
    return f"  {left:<{_COLUMN - 2}}{gap}{right}"
