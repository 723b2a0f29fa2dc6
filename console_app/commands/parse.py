"""`fanout parse`: what a text answer would call, as JSON, to show why a call was or was not understood."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from console_app.commands.standard_output import write_out
from console_app.config.files import disk
from console_app.domain import ConfigError, UsageError, safe_text
from console_app.providers import checked_dialect, level_of, usual_dialect
from console_app.textcalls import ParsedCall, ToolSignature, model, parse, unread

_MOST_TOOLS = 100_000_000  # bytes of a file of tools


def run_parse(arguments: Namespace) -> int:
    """Read one text from standard input to one JSON object, with `--jsonl` a case a line. It reads as a session with
    that protocol and dialect does."""
    checked_dialect(arguments.dialect)
    if not arguments.jsonl and not arguments.tools:
        raise UsageError("parse needs the tools", "Write fanout parse --tools FILE < TEXT, or --jsonl.")
    tools = _tools(Path(arguments.tools)) if arguments.tools else []
    protocol, dialect = arguments.protocol, arguments.dialect
    level = level_of(protocol, dialect)

    def form(tools: Sequence[ToolSignature]) -> str:
        """Return the form whose calls run by the usual rules; "" where it isn't known."""
        if dialect is not None or protocol == "auto":
            return dialect or ""
        return usual_dialect("", (tool.parameters for tool in tools), protocol)

    with open(0, "rb", closefd=False) as standard_input:
        if not arguments.jsonl:
            text = standard_input.read().decode("utf-8", "replace")
            _print(report_text(text, tools, arguments.chunk, None, level, form(tools)))
            return 0
        for line in standard_input:
            if line.strip():
                text = line.decode("utf-8", "replace")
                _print(report_line(text, arguments.chunk, level, form))
    return 0


def _print(value: Any) -> None:
    write_out(safe_text.json_line(value) + "\n")


def _tools(path: Path) -> list[ToolSignature]:
    try:
        return signatures(json.loads(disk.read_text(path, most=_MOST_TOOLS, piped=True)))
    except json.JSONDecodeError as error:
        raise ConfigError(f"{path}:{error.lineno}:{error.colno}: {error.msg.lower()}", "It has to be JSON.") from None
    except RecursionError:
        raise ConfigError(f"{path}: it nests too deeply", "Schemas of parameters have a few levels.") from None
    except ValueError as error:
        raise ConfigError(f"{path}: {error}") from None


Report = dict[str, Any]
"""{"calls": [{"name", "arguments", "form", "stood", "asks"}], "content", "error", "dialect", "problems": [text]}"""


class UnusableInput(ValueError):
    """The tools or a case are not of the form they should have; the message says what is wrong."""


def signatures(tools: object) -> list[ToolSignature]:
    """Tools as `[{"name", "parameters"}]`; OpenAI's `{"function": {...}}` and MCP's `inputSchema` are read too."""
    if not model.is_list(tools):
        raise UnusableInput("the tools should be a JSON list of objects with a name and parameters")
    known: list[ToolSignature] = []
    for position, tool in enumerate(tools, 1):
        found: Any = tool["function"] if model.is_object(tool) and model.is_object(tool.get("function")) else tool
        if not model.is_object(found) or not isinstance(found.get("name"), str):
            raise UnusableInput(f"tool {position} should be an object with a name")
        keys = [key for key in ("parameters", "inputSchema", "input_schema") if key in found]
        parameters: Any = found[keys[0]] if keys else None
        parameters = dict[str, Any]() if parameters is None else parameters
        if not model.is_object(parameters):
            raise UnusableInput(f"the parameters of tool {position} should be a JSON schema")
        known.append(ToolSignature(found["name"], parameters))
    return known


def report_text(
    text: str,
    tools: Sequence[ToolSignature],
    chunk: int | None = None,
    finish_reason: str | None = None,
    level: model.ReadingLevel = "all",
    form: str | None = None,
) -> Report:
    """Read one answer; each call says why it would ask, None where it wouldn't, and among the problems are these calls
    and what only seems to be one. `form` is the one whose calls run by the usual rules, "" for none; None: each does.
    """
    result = parse(text, tools, chunk, finish_reason, level, prefer=form)
    calls = [(one, _asks(one, form)) for one in result.calls]
    waits = [_waits(text, one, why) for one, why in calls if why is not None]
    if not (result.calls or result.problems) and (seeming := unread(text, [tool.name for tool in tools])):
        waits = [seeming]
    return {
        "calls": [
            {"name": one.name, "arguments": one.arguments, "form": one.form, "stood": one.stood, "asks": why}
            for one, why in calls
        ],
        "content": result.content,
        "error": result.error,
        "dialect": result.dialect,
        "problems": [describe(one) for one in sorted([*result.problems, *waits], key=lambda one: one.start)],
    }


def _asks(call: ParsedCall, form: str | None) -> str | None:
    """Return why a call asks, by its form and by its place; None where it doesn't."""
    other = ""
    if form is not None and call.form != form:
        other = f"it is written as {call.form}, and its model is not known to write calls so"
    place = call.asks if not other or call.asks != model.UNMARKED else ""  # the question of its form says more
    return "; ".join(filter(None, (other, place))) or None


def _waits(text: str, call: ParsedCall, why: str) -> model.ScanProblem:
    line, column = text.count("\n", 0, call.start) + 1, call.start - text.rfind("\n", 0, call.start)
    message = f"The call of {call.name} waits for approval: {why}."
    return model.ScanProblem("asks", message, call.start, call.end, line, column, call.raw, call.name)


def describe(problem: model.ScanProblem) -> str:
    return f"line {problem.line}, column {problem.column}: {problem.kind}: {problem.message}"


def report_line(
    line: str,
    chunk: int | None = None,
    level: model.ReadingLevel = "all",
    form: Callable[[Sequence[ToolSignature]], str | None] = lambda _: None,
) -> Report:
    """Answer one line of a file of cases, `{"id", "tools", "text"}`; a line that is none is answered with what
    is wrong. `form` gives the licensed form for its tools.
    """
    case: Any = None
    try:
        case = json.loads(line)
        if not model.is_object(case) or not isinstance(case.get("text"), str):
            raise UnusableInput('a case should be an object {"id", "tools", "text"}')
        finish_reason: Any = case.get("finish_reason")
        tools: Any = case.get("tools")
        known = signatures([] if tools is None else tools)
        answer = report_text(case["text"], known, chunk, finish_reason, level, form(known))
    except (ValueError, RecursionError) as error:
        message = str(error) if isinstance(error, UnusableInput) else "the line is not JSON"
        answer = {"calls": [], "content": "", "error": "invalid", "dialect": None, "problems": [message]}
    identity: Mapping[str, Any] = {"id": case.get("id") if model.is_object(case) else None}
    return {**identity, **answer}
