"""Reads arguments as a command, its action, its options and its words; a mistake is one line and exit code 2.

The console is the command without a name. A prompt for it is seen to be one (it holds a space, or stands behind `--`),
so that a word nobody knows is never sent to a model. argparse reads the options of the one command that was named.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import NoReturn

from console_app.command_line.commands import COMMANDS, CONSOLE, CommandSpec, Words
from console_app.command_line.flags import Flag
from console_app.command_line.help_text import help_of, program

_WRONG_VALUE = re.compile(r"argument (\S+): invalid (.+) value: ('.*')", re.DOTALL)  # argparse's words


class Parser(argparse.ArgumentParser):
    """Reads the options of one command; its complaint is one line, its help ours."""

    def __init__(self, command: CommandSpec, action: CommandSpec | None = None) -> None:
        super().__init__(prog=program(command, action), allow_abbrev=False)
        self._command, self._action = command, action
        for flag in (action or command).flags:
            flag.add_to(self)

    def format_help(self) -> str:
        return help_of(self._command, self._action)

    def error(self, message: str) -> NoReturn:
        """Write one line to standard error, and end with exit code 2."""
        message = _WRONG_VALUE.sub(r"\1 takes a \2, not \3", message)
        text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in " ".join(message.split()))
        end = "" if text.endswith((".", "?")) else "."
        sys.stderr.write(f"fanout: {text}{end} See {self.prog} --help.\n")
        raise SystemExit(2)


def parse_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the options with `command`, `action` and words among them; "console" is the command without a name."""
    found = find_word(arguments, CONSOLE.flags)
    if found is None:
        return _parse_console(arguments)
    name, rest = found
    if name == "help":
        return parse_arguments([*rest, "--help"])
    command = COMMANDS.get(name)
    if command is None:
        return _parse_console(arguments)
    if not command.actions:
        return _parsed(command, None, rest)
    found = find_word(rest, command.all_flags())
    if found is None:
        parser = Parser(command)
        if {"-h", "--help"} & {*rest}:
            parser.print_help()
            raise SystemExit(0)
        parser.error(f"{name} needs an action: {', '.join(one.name for one in command.actions)}")
    action = command.action(found[0])
    if action is None:
        near = _nearest(found[0], [one.name for one in command.actions])
        known = f"did you mean {near}?" if near else f"there are {', '.join(one.name for one in command.actions)}"
        Parser(command).error(f"{name} has no action {found[0]!r}; {known}")
    return _parsed(command, action, found[1])


def _parsed(command: CommandSpec, action: CommandSpec | None, arguments: Sequence[str]) -> argparse.Namespace:
    """Read the options of a command or action. What its sibling actions take is there with its default."""
    shown, parser = action or command, Parser(command, action)
    start = argparse.Namespace(command=command.name or "console")
    if action is not None:
        start.action = action.name
        every = argparse.ArgumentParser(add_help=False, conflict_handler="resolve")
        for flag in command.all_flags():
            flag.add_to(every)
        vars(start).update(vars(every.parse_args([])))
        start.mcp, start.no_mcp, start.words = getattr(start, "mcp", None), getattr(start, "no_mcp", False), []
        for words in (one.words for one in command.actions if one.words):
            setattr(start, words.dest, [] if words.listed else None)
    arguments = list(_by_new_names(shown, arguments))
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    parsed, others = parser.parse_known_args(arguments[:cut], start)
    unknown = [word for word in others if word.startswith("-") and word != "-"]
    if unknown:
        near = _nearest(unknown[0].partition("=")[0], [name for flag in shown.flags for name in flag.names])
        parser.error(f"unrecognized arguments: {' '.join(unknown)}" + (f"; did you mean {near}?" if near else ""))
    words, takes = [*others, *arguments[cut + 1 :]], shown.words or Words("", most=0)
    if len(words) < takes.least:
        parser.error(f"{shown.name} needs {takes.metavar}")
    if takes.most is not None and len(words) > takes.most:
        parser.error(f"unexpected argument {words[takes.most]!r}")
    if takes.choices and words and words[0] not in takes.choices:
        parser.error(f"no {takes.dest} {words[0]!r}; there are {', '.join(takes.choices)}")
    setattr(parsed, takes.dest, words if takes.listed else next(iter(words), None))
    return parsed


def _by_new_names(command: CommandSpec, arguments: Sequence[str]) -> Iterator[str]:
    """Yield the arguments with options by their new names, and say so of an old one."""
    renamed = dict(command.renamed)
    for word in arguments:
        name, equals, value = word.partition("=")
        if (new := renamed.get(name)) is not None:
            sys.stderr.write(f"fanout: {name} is called {new} now; the next release doesn't know the old name.\n")
        yield word if new is None else f"{new}{equals}{value}"


def _parse_console(arguments: Sequence[str]) -> argparse.Namespace:
    parsed = _parsed(CONSOLE, None, arguments)
    words: list[str] = parsed.prompt
    if words and "--" not in arguments and not parsed.print_answer and not any(" " in word.strip() for word in words):
        near = _nearest(words[0], COMMANDS)
        means = f"did you mean {near}? As a prompt:" if near else "a prompt is quoted, or stands behind --:"
        text = f"no command {words[0]!r}; {means} fanout -- {' '.join(words)}"
        Parser(CONSOLE).error(text)
    parsed.prompt = " ".join(words) or None
    return parsed


def find_word(arguments: Sequence[str], flags: Iterable[Flag]) -> tuple[str, list[str]] | None:
    """Return the first argument that is neither an option nor its value, and the other arguments."""
    with_value = {name for flag in flags if flag.takes_value for name in flag.names}
    at = 0
    while at < len(arguments):
        argument = arguments[at]
        if argument in with_value:
            at += 2
        elif argument == "--":
            return None
        elif not argument.startswith("-") or argument == "-":
            return argument, [*arguments[:at], *arguments[at + 1 :]]
        else:
            at += 1
    return None


def _nearest(word: str, known: Iterable[str]) -> str:
    import difflib  # 5 ms, and only for a mistake

    bare = {name.lstrip("-"): name for name in known}  # what all options begin with makes none of them near
    return next((bare[one] for one in difflib.get_close_matches(word.lstrip("-"), bare, 1, 0.75)), "")
