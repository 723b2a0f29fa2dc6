"""Report the calls of a text as plain JSON values, for people who want to know why a call was not understood."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from console_app.textcalls import model
from console_app.textcalls.bodies.draft import Places
from console_app.textcalls.mentions import unread
from console_app.textcalls.scanner import parse

Report = dict[str, Any]
"""{"calls": [{"name", "arguments", "form", "stood", "asks"}], "content", "error", "dialect", "problems": [text]}"""


class UnusableInput(ValueError):
    """The tools or a case are not of the form they should have; the message says what is wrong."""


def signatures(tools: object) -> list[model.ToolSignature]:
    """Tools as `[{"name", "parameters"}]`; OpenAI's `{"function": {...}}` and MCP's `inputSchema` are read too."""
    if not model.is_list(tools):
        raise UnusableInput("the tools should be a JSON list of objects with a name and parameters")
    known: list[model.ToolSignature] = []
    for position, tool in enumerate(tools, 1):
        found: Any = tool["function"] if model.is_object(tool) and model.is_object(tool.get("function")) else tool
        if not model.is_object(found) or not isinstance(found.get("name"), str):
            raise UnusableInput(f"tool {position} should be an object with a name")
        keys = [key for key in ("parameters", "inputSchema", "input_schema") if key in found]
        parameters: Any = found[keys[0]] if keys else None
        parameters = dict[str, Any]() if parameters is None else parameters
        if not model.is_object(parameters):
            raise UnusableInput(f"the parameters of tool {position} should be a JSON schema")
        known.append(model.ToolSignature(found["name"], parameters))
    return known


def report_text(
    text: str,
    tools: Sequence[model.ToolSignature],
    chunk: int | None = None,
    finish_reason: str | None = None,
    level: model.ReadingLevel = "all",
    form: str | None = None,
) -> Report:
    """Read one answer; each call says why it would ask, None where it wouldn't, and among the problems are these calls
    and what only seems to be one. `form` is the one whose calls run by the usual rules, "" for none; None: each does.
    """
    result, place = parse(text, tools, chunk, finish_reason, level, prefer=form), Places(text)
    calls = [(one, _asks(one, form)) for one in result.calls]
    waits = [
        place.problem("asks", f"The call of {one.name} waits for approval: {why}.", one.start, one.end, one.name)
        for one, why in calls
        if why is not None
    ]
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


def _asks(call: model.ParsedCall, form: str | None) -> str | None:
    """Return why a call asks, by its form and by its place; None where it doesn't."""
    other = ""
    if form is not None and call.form != form:
        other = f"it is written as {call.form}, and its model is not known to write calls so"
    place = call.asks if not other or call.asks != model.UNMARKED else ""  # the question of its form says more
    return "; ".join(filter(None, (other, place))) or None


def describe(problem: model.ScanProblem) -> str:
    return f"line {problem.line}, column {problem.column}: {problem.kind}: {problem.message}"


def report_line(
    line: str,
    chunk: int | None = None,
    level: model.ReadingLevel = "all",
    form: Callable[[Sequence[model.ToolSignature]], str | None] = lambda _: None,
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
