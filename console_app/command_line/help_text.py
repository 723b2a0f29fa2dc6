"""Writes help: of a command or an action only what it takes, a line an option, so that it fits a screen of 80 by 40."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from console_app._version import __version__
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


_ENVIRONMENT = {
    "OPENAI_API_KEY, OPENAI_BASE_URL": "the key and the endpoint of the provider openai",
    "ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL": "the key and the endpoint of the provider anthropic",
    "OLLAMA_HOST": "where Ollama answers",
    "FANOUT_HOME": "one folder for configuration, data and state",
    "FANOUT_SERVE_TOKEN": "the token that fanout serve asks browsers for",
    "FANOUT_SETTING": "the value of any setting, in capitals, as FANOUT_MODEL",
    "NO_COLOR": "no colours",
    "VISUAL, EDITOR": "the editor that Ctrl+G opens",
}


def pages() -> dict[str, str]:
    """Return every page by the name of its file."""
    return {"fanout.1": page(), **{f"fanout-{name}.1": page(name) for name in COMMANDS}}


def page(name: str = "") -> str:
    """Return the page of the command called `name`, or of the console, in man(7). Raises UsageError."""
    command = COMMANDS.get(name) if name else CONSOLE
    if command is None:
        from console_app.domain import UsageError  # pydantic, which the build has not

        raise UsageError(f"no command {name!r}", f"There are: {', '.join(COMMANDS)}.")
    return "".join(f"{line}\n" for line in _page_lines(command))


def _page_lines(command: CommandSpec) -> Iterator[str]:
    name = "-".join(filter(None, ("fanout", command.name)))
    about = command.about.rstrip(".")
    yield f'.TH {name.upper()} 1 "" "Fanout {__version__}" "User Commands"'
    yield ".SH NAME"
    yield f"{_text(name)} \\- {_text(about[:1].lower() + about[1:])}"
    yield ".SH SYNOPSIS"
    for action in command.actions or (None,):
        yield ".nf"
        yield _text(usage(command, action))
        yield ".fi"
    if command is CONSOLE:
        yield from _console()
    elif command.words is not None and command.words.help:
        yield ".SH DESCRIPTION"
        yield from _entry(command.words.metavar, command.words.help)
    for action in command.actions:
        yield f'.SH "{action.name.upper()}"'
        yield _text(f"{action.about[:1].upper()}{action.about[1:]}.")
        if action.words is not None and action.words.help:
            yield from _entry(action.words.metavar, action.words.help)
        yield from _options(action.flags)
        yield from _examples(action.notes)
    if command.flags:
        yield ".SH OPTIONS"
        yield from _options(command.flags)
    if command.notes:
        yield ".SH EXAMPLES"
        yield from _examples(command.notes)
    yield ".SH EXIT STATUS"
    for code, meaning in EXIT_CODES:
        yield from _entry(str(code), meaning)
    yield ".SH SEE ALSO"
    others = ["fanout", *(f"fanout-{other}" for other in COMMANDS)]
    yield from (f".BR {_text(other)} (1){',' if other != others[-1] else ''}" for other in others if other != name)


def _console() -> Iterator[str]:
    yield ".SH DESCRIPTION"
    yield "Without a command the console opens. A prompt on the command line is sent as it does:"
    yield "it is quoted and holds a space, or stands behind a lone"
    yield ".BR \\-\\- ."
    yield ".SH COMMANDS"
    for one in COMMANDS.values():
        yield from _entry(one.name, one.about)
    yield ".SH ENVIRONMENT"
    for name, about in _ENVIRONMENT.items():
        yield from _entry(name, about)
    yield ".SH FILES"
    yield ".B fanout config path"
    yield "lists every file that is read or written."


def _options(flags: tuple[Flag, ...]) -> Iterator[str]:
    for flag in flags:
        yield from _entry(option(flag).strip(), flag.help)


def _entry(term: str, about: str) -> Iterator[str]:
    yield ".TP"
    yield f".B {_text(term)}"
    yield _text(about)


def _examples(notes: tuple[str, ...]) -> Iterator[str]:
    for number, note in enumerate(notes):
        yield ".sp" if number else '.\\"'
        yield ".nf"
        yield _text(note)
        yield ".fi"


def _text(text: str) -> str:
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("`", "\\(ga").replace("'", "\\(aq")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped.replace('"', "\\(dq")
