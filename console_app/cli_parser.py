"""The command line: which commands and flags there are. Standard library alone, so that a mistake is told at once.

The console is the command without a name (`fanout [PROMPT]`), so the name of a command is looked for before argparse
sees the arguments; each command then has a parser of its own, and only that one is built.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

COMMANDS = {
    "run": "answer one prompt without the console (also: fanout -p)",
    "batch": "answer thousands of prompts at once, each a whole turn with its calls",
    "call": "run tools yourself, several in parallel; no model",
    "parse": "what a text answer would call, as JSON",
    "mcp": "list, test, add, remove, import and sign in to MCP servers; trust a project",
    "sessions": "list, search, show, export, import, rename, fork and delete saved sessions",
    "models": "the models that can be used",
    "themes": "the themes that can be used",
    "auth": "keep a provider's key in the keyring or a private file, or forget it",
    "doctor": "what is wrong, here and now, and what to do about it",
    "config": "where the configuration is, what it says, and whether it is right",
}
_EXAMPLES = """\
examples:
  fanout                                      the console
  fanout "Calculate 355/113, sqrt(2) and e^pi"
  fanout -m anthropic/claude-sonnet-5-5       with ANTHROPIC_API_KEY set
  fanout --base-url http://localhost:8000/v1 -m openai/my-model
  git diff | fanout run "Review this change"
  fanout call calculator.evaluate '{"expression": "2^64"}'

exit codes: 0 done · 1 failed · 2 usage or configuration · 3 an approval was needed and nobody could give it ·
            124 time limit · 130 interrupted
"""


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaint is one line."""

    def error(self, message: str) -> NoReturn:
        """One line to standard error, exit code 2."""
        text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in " ".join(message.split()))
        sys.stderr.write(f"fanout: {text}. See {self.prog} --help.\n")
        raise SystemExit(2)


@dataclass(frozen=True, slots=True)
class Flag:
    """One option, as argparse wants it."""

    names: tuple[str, ...]
    options: dict[str, Any]

    @property
    def takes_value(self) -> bool:
        """Whether the argument behind it belongs to it."""
        return "action" not in self.options or self.options["action"] == "append"


def _flag(*names: str, **options: Any) -> Flag:
    return Flag(names, options)


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 <= value < float("inf"):
        raise ValueError
    return value


def _dollars(text: str) -> float:
    return _seconds(text)  # a number that is neither negative nor without end


def _speed(text: str) -> float:
    value = float(text)
    if not 0.01 <= value <= 10_000:
        raise ValueError
    return value


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError
    return value


_seconds.__name__, _count.__name__ = "number of seconds", "number from 1"
_speed.__name__ = "number from 0.01 to 10000"
_dollars.__name__ = "number of dollars"  # argparse says "invalid NAME value"

GENERAL = (
    _flag("-C", "--cwd", metavar="DIR", help="work in this folder"),
    _flag("--debug", action="store_true", help="log everything; headless, also to standard error"),
    _flag("--log-file", metavar="FILE", help="where the log goes (fanout config path says where it goes otherwise)"),
)
MODEL = (
    _flag(
        "-m", "--model", metavar="PROVIDER/MODEL", help="the model that answers, as openai/NAME or offline/rehearsal"
    ),
    _flag("--base-url", metavar="URL", help="the endpoint: with /v1 for the OpenAI formats, without for Anthropic"),
)
SERVERS = (
    _flag("--mcp-config", metavar="FILE", help="the MCP servers, in place of the usual mcp.json"),
    _flag("--mcp", metavar="NAME", action="append", help="only this server (repeatable)"),
    _flag("--no-mcp", action="store_true", help="no servers, no tools"),
)
CALLS = (
    _flag("--policy", choices=("parallel", "sequential", "single"), help="how the calls of one answer run"),
    _flag(
        "--call-timeout",
        metavar="S",
        type=_seconds,
        help="seconds without progress before a call times out; 0 is no limit",
    ),
    _flag("--timeout", metavar="S", type=_seconds, help="seconds the whole turn may take; 0 is no limit"),
)
APPROVALS = (
    _flag("--approval-mode", choices=("ask", "auto", "yolo"), help="auto also runs what only reads, yolo everything"),
    _flag(
        "--allow-tool", metavar="PATTERN", action="append", help="run without asking: SERVER.TOOL with * (repeatable)"
    ),
    _flag("--deny-tool", metavar="PATTERN", action="append", help="never run: SERVER.TOOL with * (repeatable)"),
)
TURN = (
    _flag("--protocol", choices=("auto", "native", "text", "xml"), help="how the model is given tools"),
    _flag(
        "--strategy",
        choices=("agentic", "act", "think-act", "react"),
        help="how the model works: plainly, until it calls finished, or thinking aloud between its calls",
    ),
    _flag(
        "--effort",
        choices=("none", "minimal", "low", "medium", "high", "xhigh", "max"),
        help="how much the model thinks first, where it can be told",
    ),
    _flag("--max-steps", metavar="N", type=_count, help="answers with calls in one turn (25)"),
    _flag("--max-price", metavar="USD", type=_dollars, help="dollars a turn may cost; 0 is no limit"),  # not of batch
)
BULK = (
    _flag(
        "-o", "--output", metavar="FILE", help="where results go, a line of JSON each; what it holds is not run again"
    ),
    _flag("--jobs", metavar="N", type=_count, help="items at once (by the model's rate limit, else 32)"),
    _flag("--retry", choices=("failed",), help="run again what failed"),
    _flag("--fail-fast", action="store_true", help="stop everything at the first failure"),
    _flag("--limit", metavar="N", type=_count, help="no more than N items of those that are left"),
    _flag("--shuffle", action="store_true", help="in any order"),
    _flag("--name", metavar="NAME", help="what it is called in other terminals (that of the results file)"),
    _flag("--plain", action="store_true", help="lines in a terminal too, and no screen"),
    _flag("--report", metavar="FILE", help="at the end, one HTML page of what came of it"),
)
ITEMS = (
    _flag("--prompt", metavar="TEXT", help="the prompt of each item: {field} stands for a field of it, {{ for a brace"),
    _flag("--system", metavar="TEXT", help="the system prompt of each item, fields in it too"),
    _flag("--schema", metavar="FILE", help="a JSON Schema that each answer has to fit; it is asked for once more"),
    _flag("--format", choices=("jsonl", "csv", "lines"), help="how items are written (by the file's ending)"),
    _flag("--each", metavar="FIELD=A,B", action="append", help="an item for each value, as model=a/b,c/d (repeatable)"),
    _flag("--repeat", metavar="N", type=_count, default=1, help="each item N times"),
    _flag("--max-price", metavar="USD", type=_dollars, dest="batch_price", help="dollars all of it may cost"),
    _flag("--max-tokens", metavar="N", type=_count, dest="batch_tokens", help="tokens all of it may take, in and out"),
    _flag("--events", metavar="DIR", help="keep each item's whole conversation, a file an item"),
    _flag("--dry-run", action="store_true", help="check everything and say what it would cost; ask nothing"),
    _flag("--json", action="store_true", help="status, show: a line of JSON each"),
)
SAVING = (
    _flag(
        "-c", "--continue", action="store_true", dest="resume_newest", help="go on with this folder's newest session"
    ),
    _flag(
        "-r", "--resume", metavar="ID", help="go on with a session (fanout sessions list; the beginning of ID will do)"
    ),
    _flag("--no-save", action="store_false", dest="save_sessions", default=argparse.SUPPRESS, help="keep no session"),
)
OUTPUT = (
    _flag(
        "--output-format",
        choices=("text", "json", "stream-json"),
        default="text",
        help="the answer as text, one JSON object at the end, or every event a line of JSON",
    ),
)
_PRINT = _flag("-p", "--print", action="store_true", dest="print_answer", help="like fanout run: answer and end")
_THEME = _flag("--theme", metavar="NAME", help="colours (fanout themes lists them)")
_VERSION = _flag("-V", "--version", action="store_true", help="the version")
_CONSOLE = (*MODEL, *CALLS, *TURN, *APPROVALS, *SAVING, *SERVERS, _THEME, _PRINT, *OUTPUT, *GENERAL, _VERSION)


def parse_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    """The arguments with `command` among them; "console" is the one without a name. Exits 2 when they make no sense."""
    command, rest = _find_command(arguments)
    if command is None:
        return _parse_console(rest)
    parser = Parser(prog=f"fanout {command}", description=_sentence(COMMANDS[command]), allow_abbrev=False)
    _BUILDERS[command](parser)
    if command == "mcp" and "--" in rest:  # what follows is another program's: argparse can't tell behind an option
        cut = rest.index("--")
        parsed = parser.parse_args(rest[:cut], argparse.Namespace(command=command))
        parsed.words += rest[cut + 1 :]
        return parsed
    return parser.parse_args(rest, argparse.Namespace(command=command))


def _find_command(arguments: Sequence[str]) -> tuple[str | None, list[str]]:
    """The command's name, if one is the first argument that is no option, and the other arguments."""
    with_value = {name for flag in _CONSOLE if flag.takes_value for name in flag.names}
    at = 0
    while at < len(arguments):
        argument = arguments[at]
        if argument in with_value:
            at += 2
        elif argument == "--" or not argument.startswith("-") or argument == "-":
            break
        else:
            at += 1
    if at < len(arguments) and arguments[at] in COMMANDS:
        return arguments[at], [*arguments[:at], *arguments[at + 1 :]]
    return None, list(arguments)


def _parse_console(arguments: Sequence[str]) -> argparse.Namespace:
    commands = "\n".join(f"  {name:<10} {about}" for name, about in COMMANDS.items())
    parser = Parser(
        prog="fanout",
        usage="fanout [options] [PROMPT]\n       fanout COMMAND ...",
        description="A terminal console for agents that call many tools at once.",
        epilog=f"commands (fanout COMMAND --help says more):\n{commands}\n\n{_EXAMPLES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("prompt", nargs="*", metavar="PROMPT", help="sent as the console opens")
    _add(parser, *_CONSOLE)
    parsed = parser.parse_args(arguments, argparse.Namespace(command="console"))
    words: list[str] = parsed.prompt
    if words and "--" not in arguments and not parsed.print_answer and (near := _nearest_command(words[0])):
        parser.error(f"no command {words[0]!r}; did you mean {near}? As a prompt: fanout -- {words[0]} ...")
    parsed.prompt = " ".join(words) or None
    return parsed


def _run(parser: Parser) -> None:
    parser.add_argument(
        "prompt",
        nargs="*",
        metavar="PROMPT",
        help="`-` or nothing reads standard input; a prompt and a pipe are joined",
    )
    _add(parser, *MODEL, *CALLS, *TURN, *APPROVALS, *SAVING, *SERVERS, *OUTPUT, *GENERAL)


def _batch(parser: Parser) -> None:
    parser.usage = "fanout batch ITEMS... -o FILE [options]\n       fanout batch status|show|stop [NAME]"
    parser.epilog = (
        "ITEMS are JSON lines, CSV or lines of text; - is standard input. What is in FILE is not run again: the same "
        "command goes on where it was stopped. status, show and stop are about runs in other terminals."
    )
    parser.add_argument("words", nargs="+", metavar="ITEMS", help="files of items")
    _add(parser, *ITEMS, *BULK, *MODEL, *CALLS, *TURN[:-1], *APPROVALS, *SERVERS, *GENERAL)


def _call(parser: Parser) -> None:
    parser.epilog = 'example: fanout call demo.fail \'{"message": "no"}\' calculator.evaluate \'{"expression": "1+1"}\''
    parser.add_argument("words", nargs="*", metavar="SERVER.TOOL JSON", help="a tool and its arguments; {} if left out")
    whole = _flag("--from", metavar="FILE", dest="from_file", help='calls in bulk: {"tool", "arguments"} a line')
    _add(parser, whole, *BULK, *CALLS, *APPROVALS, *SERVERS, *OUTPUT, *GENERAL)
    parser.set_defaults(dry_run=False, events=None, batch_price=None, batch_tokens=None)


def _parse(parser: Parser) -> None:
    parser.epilog = "Reads one text from standard input; with --jsonl a case a line, {id, tools, text}."
    parser.add_argument("--tools", metavar="FILE", help='the tools, as JSON: [{"name": ..., "parameters": ...}]')
    parser.add_argument("--jsonl", action="store_true", help="answer cases, one a line")
    parser.add_argument(
        "--protocol",
        choices=("auto", "native", "text", "xml"),
        default="text",
        help="read as much as this protocol would (text unless told)",
    )
    parser.add_argument("--chunk", metavar="N", type=_count, help="feed N characters at a time, as a stream would")


def _mcp(parser: Parser) -> None:
    parser.usage = "fanout mcp ACTION [NAME] [...] [options]"
    parser.epilog = (
        "list [--check] · get NAME · test [NAME ...] · add NAME URL · add NAME -- COMMAND [ARG ...] · add NAME JSON · "
        "remove NAME · auth NAME: sign in · import [CLIENT|FILE [NAME ...]]: from other clients · "
        "trust [FILE]: use the project's mcp.json and settings, shown first · trust NAME: its tools, as they are now · "
        "test, and list --check, exit 1 when a server fails"
    )
    parser.add_argument(
        "action",
        choices=("list", "get", "test", "add", "remove", "auth", "import", "trust"),
        help="what to do; see below",
    )
    parser.add_argument("words", nargs="*", metavar="WORD", help="what the action is about")
    _add(
        parser,
        _flag("-e", "--env", metavar="NAME=VALUE", action="append", help="add: a variable for its program"),
        _flag("-H", "--header", metavar="'NAME: VALUE'", action="append", help="add: a header for its URL"),
        _flag("--transport", choices=("stdio", "http", "sse"), help="add: how it is spoken to"),
        _flag("--sign-out", action="store_true", help="auth: forget the sign-in"),
        _flag("--check", action="store_true", help="list: exit 1 when a server is down"),
        _flag("--json", action="store_true", help="list, test: one JSON object"),
        _flag("--junit", metavar="FILE", help="list, test: a JUnit report too, as CI reads it"),
        _flag("-y", "--yes", action="store_true", help="trust: don't ask"),
        *SERVERS,
        *GENERAL,
    )


def _sessions(parser: Parser) -> None:
    parser.epilog = (
        "list · search WORDS · show ID · export ID · import FILE · rename ID TITLE · fork ID · delete ID ...; "
        "the beginning of an ID will do"
    )
    parser.add_argument(
        "action", choices=("list", "search", "show", "export", "import", "rename", "fork", "delete"), metavar="ACTION"
    )
    parser.add_argument("words", nargs="*", metavar="WORD", help="what the action is about")
    _add(
        parser,
        _flag("--json", action="store_true", help="list, search, show: a line of JSON each"),
        _flag("--limit", metavar="N", type=_count, help="list, search: maximum number of results"),
        _flag("--replay", action="store_true", help="show: play it with its real timing"),
        _flag("--speed", metavar="N", type=_speed, default=1.0, help="--replay: N times as fast"),
        _flag("--format", choices=("md", "html", "jsonl"), help="export: the ending of --output, or md"),
        _flag("-o", "--output", metavar="FILE", help="export: a new file, in place of standard output"),
        _flag("--turn", metavar="N", type=_count, help="fork: up to the end of this turn"),
        _flag("--yes", action="store_true", help="delete: without asking"),
        _THEME,
        *GENERAL,
    )


def _models(parser: Parser) -> None:
    _add(parser, *MODEL, *GENERAL)


def _themes(parser: Parser) -> None:
    _add(parser, *GENERAL)


def _auth(parser: Parser) -> None:
    parser.epilog = "The key is typed unseen, or read from standard input: never an argument, which others could see."
    parser.add_argument("action", choices=("set", "remove", "list"), help="list: the names of the keys that are kept")
    parser.add_argument("provider", nargs="?", metavar="PROVIDER", help="as openai or anthropic")
    _add(parser, *GENERAL)


def _doctor(parser: Parser) -> None:
    parser.add_argument("--json", action="store_true", help="the findings as one JSON object")
    _add(parser, *MODEL, *SERVERS, *GENERAL)


def _config(parser: Parser) -> None:
    parser.add_argument(
        "action",
        choices=("path", "show", "validate"),
        help="path: the files and folders · show: every setting and who said it · validate: what is wrong",
    )
    _add(parser, *MODEL, *CALLS, *TURN, *APPROVALS, *SERVERS, _THEME, *GENERAL)


_BUILDERS: dict[str, Callable[[Parser], None]] = {
    "run": _run,
    "batch": _batch,
    "call": _call,
    "parse": _parse,
    "mcp": _mcp,
    "sessions": _sessions,
    "models": _models,
    "themes": _themes,
    "auth": _auth,
    "doctor": _doctor,
    "config": _config,
}


def _add(parser: Parser, *flags: Flag) -> None:
    for flag in flags:
        parser.add_argument(*flag.names, **flag.options)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _nearest_command(word: str) -> str:
    import difflib  # 5 ms, and only when a prompt comes from the command line

    if " " in word or word in COMMANDS:
        return ""
    return next(iter(difflib.get_close_matches(word, COMMANDS, 1, 0.75)), "")
