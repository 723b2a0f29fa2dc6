"""The options of the command line, in the groups that commands share; standard library alone, as all around it."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, Literal

from console_app.records import dataclass

Completes = Literal["", "file", "folder", "model", "server", "tool", "session", "theme", "setting", "output", "command"]
"""The kind of word that follows an option or a command; the shell itself completes "file" and "folder"."""


@dataclass(frozen=True, slots=True)
class Flag:
    """An option, as argparse wants it, and what completes its value."""

    names: tuple[str, ...]
    help: str
    options: dict[str, Any]
    completes: Completes = ""

    @property
    def takes_value(self) -> bool:
        """Tell whether the option takes the argument behind it."""
        return self.options.get("action", "append") == "append"

    @property
    def choices(self) -> tuple[str, ...]:
        """The values that the option takes, where they are few."""
        return self.options.get("choices", ())

    @property
    def metavar(self) -> str:
        """The word that stands for its value in help; "" for an option without one."""
        return self.options.get("metavar", "VALUE") if self.takes_value else ""

    def add_to(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(*self.names, help=self.help, **self.options)


def flag(*names: str, help: str, completes: Completes = "", **options: Any) -> Flag:
    return Flag(names, help, options, completes)


def switch(*names: str, help: str, **options: Any) -> Flag:
    """Make an option without a value."""
    return Flag(names, help, {"action": "store_true", **options})


def one_of(name: str, metavar: str, choices: tuple[str, ...], *, help: str, **options: Any) -> Flag:
    """Make an option whose few values its help names."""
    return Flag((name,), help, {"metavar": metavar, "choices": choices, **options})


def _number(name: str, least: float, most: float) -> Callable[[str], float]:
    """Make a reader of numbers in these bounds: argparse says "invalid NAME value"."""

    def read(text: str) -> float:
        value = float(text)
        if not least <= value <= most:
            raise ValueError(name)
        return value

    read.__name__ = name
    return read


def _whole(name: str, least: int, most: float) -> Callable[[str], int]:
    def read(text: str) -> int:
        return int(_number(name, least, most)(str(int(text))))

    read.__name__ = name
    return read


def screen_size(text: str) -> tuple[int, int]:
    """Read columns and rows, as 100x30."""
    columns, _, rows = text.partition("x")
    return int(_number("columns", 60, 240)(columns)), int(_number("rows", 15, 80)(rows))


seconds = _number("number of seconds", 0, 1e12)
dollars = _number("number of dollars", 0, 1e12)
speed = _number("number from 0.01 to 10000", 0.01, 10_000)
minutes = _number("number of minutes", 0, 7 * 24 * 60)
count = _whole("number from 1", 1, 1e12)
port = _whole("port from 0 to 65535", 0, 65535)  # 0 stands for any that is free
screen_size.__name__ = "size from 60x15 to 240x80"


GENERAL = (
    flag("-C", "--cwd", metavar="DIR", completes="folder", help="work in this folder"),
    switch("--debug", help="log everything; headless, also to standard error"),
    flag("--log-file", metavar="FILE", completes="file", help="where the log goes"),
)
MODEL = (
    flag("-m", "--model", metavar="PROVIDER/MODEL", completes="model", help="the model, as openai/NAME"),
    flag("--base-url", metavar="URL", help="the endpoint: with /v1, Anthropic's without"),
)
MCP_CONFIG = flag("--mcp-config", metavar="FILE", completes="file", help="in place of the usual mcp.json")
SERVERS = (
    MCP_CONFIG,
    flag("--mcp", metavar="NAME", action="append", completes="server", help="only this server (repeatable)"),
    switch("--no-mcp", help="no servers, no tools"),
)
CALLS = (
    one_of("--policy", "HOW", ("parallel", "sequential", "single"), help="calls: parallel, sequential or single"),
    flag("--call-timeout", metavar="S", type=seconds, help="seconds without progress of a call; 0: any"),
    flag("--timeout", metavar="S", type=seconds, help="seconds the whole turn may take; 0: any"),
)
APPROVALS = (
    one_of(
        "--approval-mode",
        "MODE",
        ("ask", "auto", "plan", "yolo"),
        help="ask, auto (reads run), plan (only reads) or yolo",
    ),
    flag("--allow-tool", metavar="SERVER.TOOL", action="append", completes="tool", help="never ask, * fits all"),
    flag("--deny-tool", metavar="SERVER.TOOL", action="append", completes="tool", help="never run, * fits all"),
)
_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
PROTOCOL = one_of("--protocol", "HOW", ("auto", "native", "text", "xml"), help="tools: auto, native, text or xml")
DIALECT = flag("--dialect", metavar="NAME", help="the form of text that the model writes calls in")
TURN = (
    PROTOCOL,
    DIALECT,
    one_of("--strategy", "NAME", ("agentic", "act", "think-act", "react"), help="agentic, act, think-act or react"),
    one_of("--effort", "LEVEL", _EFFORTS, help="thinking: none, minimal, low, ..., xhigh, max"),
    flag("--max-steps", metavar="N", type=count, help="answers with calls in one turn (25)"),
    flag("--max-price", metavar="USD", type=dollars, help="dollars a turn may cost; 0: any"),
    flag("--max-tokens", metavar="N", type=count, help="tokens of one answer"),
)
# Of `batch` and of `call --from`.
BULK = (
    flag("-o", "--output", metavar="FILE", completes="file", help="the results; what it holds isn't run again"),
    flag("--jobs", metavar="N", type=count, help="items at once (by the rate limit, else 32)"),
    flag("--engine", metavar="WHERE", default="local", help="local, dask, or dask:// or tls://HOST:PORT"),
    switch("--insecure", help="an engine without TLS, open to others"),
    one_of("--retry", "failed", ("failed",), help="run again what failed"),
    switch("--rerun-changes", help="run again what was interrupted"),
    switch("--fail-fast", help="stop everything at the first failure"),
    flag("--limit", metavar="N", type=count, help="no more than N of the items that are left"),
    switch("--shuffle", help="in any order"),
    flag("--name", metavar="NAME", help="its name in batch status, show and stop"),
    switch("--plain", help="lines in a terminal too, and no screen"),
    flag("--report", metavar="FILE", completes="file", help="at the end, one HTML page of it all"),
    flag("--events", metavar="DIR", completes="folder", help="keep each item's conversation there"),
    flag("--record", metavar="DIR", completes="folder", help="keep the traffic with models and servers there"),
    flag("--replay", metavar="DIR", completes="folder", help="play that back: no model, no server"),
)
ITEMS = (
    flag("--prompt", metavar="TEXT", help="of each item; {field} is one of its fields"),
    flag("--system", metavar="TEXT", help="the system prompt, fields in it too"),
    flag("--schema", metavar="FILE", completes="file", help="a JSON Schema that answers have to fit"),
    one_of("--format", "FORM", ("jsonl", "csv", "lines"), help="items: jsonl, csv or lines"),
    flag("--each", metavar="FIELD=A,B", action="append", help="one item for each value, as model=a/b,c/d"),
    flag("--repeat", metavar="N", type=count, default=1, help="each item N times"),
    flag("--max-price", metavar="USD", type=dollars, dest="batch_price", help="dollars all of it may cost"),
    flag("--max-total-tokens", metavar="N", type=count, dest="batch_tokens", help="tokens all of it may take"),
    switch("--dry-run", help="check it, say what it would cost, ask nothing"),
    switch("--json", help="status, show: one JSON object"),
    switch("--jsonl", help="status, show: a JSON object a line"),
)
NO_SAVE = switch(
    "--no-save",
    action="store_false",
    dest="save_sessions",
    default=argparse.SUPPRESS,
    help="keep no session",
)
TRACE = (
    flag("--trace", metavar="FILE|URL", completes="file", help="OpenTelemetry spans of turns and calls go there"),
    switch("--trace-contents", default=argparse.SUPPRESS, help="those spans hold what was said"),
)
SAVING = (
    switch("-c", "--continue", dest="resume_newest", help="go on with this folder's newest session"),
    flag("-r", "--resume", metavar="ID", completes="session", help="go on with a session; ID may be shortened"),
    NO_SAVE,
)
OUTPUT = (
    one_of(
        "--output-format",
        "FORM",
        ("text", "json", "stream-json"),
        default="text",
        help="text, json (at the end) or stream-json",
    ),
)
BACKGROUND_AFTER = flag(
    "--background-after", metavar="S", type=seconds, help="seconds until a call goes to the background"
)
SHOWS_OUTPUT = switch("-v", "--verbose", dest="shows_output", help="what running calls write, too (standard error)")
JSON = switch("--json", help="one JSON object")
JSON_LINES = switch("--jsonl", help="a JSON object a line")
LIMIT = flag("--limit", metavar="N", type=count, help="maximum number of results")
YES = switch("-y", "--yes", help="don't ask")
PRINT = switch("-p", "--print", dest="print_answer", help="answer and end, like fanout run")
THEME = flag("--theme", metavar="NAME", completes="theme", help="colours")
SCREEN_READER = switch("--screen-reader", help="the console as lines, nothing drawn")
VERSION = switch("-V", "--version", help="the version; with -v, those of its libraries")
VERBOSE = switch("-v", "--verbose", help="--version: the libraries too")
SETTINGS = (*MODEL, *CALLS, *TURN, *APPROVALS, *SERVERS)
