"""Report the calls of a text as plain JSON values, for people who want to know why a call was not understood."""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from console_app.textcalls.bodies.draft import Places
from console_app.textcalls.mentions import unread
from console_app.textcalls.model import ReadingLevel, ScanProblem, ToolSignature, is_list, is_object
from console_app.textcalls.scanner import parse

Report = dict[str, Any]
"""{"calls": [{"name", "arguments", "asks"}], "content", "error", "dialect", "problems": [text]}"""


class UnusableInput(ValueError):
    """The tools or a case are not of the form they should have; the message says what is wrong."""


def signatures(tools: object) -> list[ToolSignature]:
    """Tools as `[{"name", "parameters"}]`; OpenAI's `{"function": {...}}` and MCP's `inputSchema` are read too."""
    if not is_list(tools):
        raise UnusableInput("the tools should be a JSON list of objects with a name and parameters")
    return [_signature(tool, position) for position, tool in enumerate(tools, 1)]


def _signature(tool: object, position: int) -> ToolSignature:
    found: Any = tool
    if is_object(found) and is_object(found.get("function")):
        found = found["function"]
    if not is_object(found) or not isinstance(found.get("name"), str):
        raise UnusableInput(f"tool {position} should be an object with a name")
    parameters: Any = next((found[key] for key in ("parameters", "inputSchema", "input_schema") if key in found), None)
    if parameters is None:
        parameters = {}
    if not is_object(parameters):
        raise UnusableInput(f"the parameters of tool {position} should be a JSON schema")
    return ToolSignature(found["name"], parameters)


def report_text(
    text: str,
    tools: Sequence[ToolSignature],
    chunk: int | None = None,
    finish_reason: str | None = None,
    level: ReadingLevel = "all",
    licensed: Collection[str] | None = None,
) -> Report:
    """Read one answer; among the problems are calls that wait for approval in every mode, and what only seems to
    be one. Of a call in a form that isn't `licensed` (None: each is), it is said that it asks.
    """
    result, place = parse(text, tools, chunk, finish_reason, level), Places(text)
    asks = [
        "; ".join(
            filter(
                None, (unlicensed(call.form) if licensed is not None and call.form not in licensed else "", call.asks)
            )
        )
        for call in result.calls
    ]
    waits = [
        place.problem("asks", f"The call of {call.name} waits for approval: {why}.", call.start, call.end, call.name)
        for call, why in zip(result.calls, asks, strict=True)
        if why
    ]
    if not (result.calls or result.problems) and (seeming := unread(text, [tool.name for tool in tools])):
        waits = [seeming]
    return {
        "calls": [
            {"name": call.name, "arguments": call.arguments, "asks": why or None}
            for call, why in zip(result.calls, asks, strict=True)
        ],
        "content": result.content,
        "error": result.error,
        "dialect": result.dialect,
        "problems": [describe(one) for one in sorted([*result.problems, *waits], key=lambda one: one.start)],
    }


def unlicensed(form: str) -> str:
    """Say why a call in a form asks that its model isn't known to write."""
    return f"it is written as {form}, and its model is not known to write calls so"


def describe(problem: ScanProblem) -> str:
    """A problem with its position, in one line."""
    return f"line {problem.line}, column {problem.column}: {problem.kind}: {problem.message}"


def report_line(
    line: str,
    chunk: int | None = None,
    level: ReadingLevel = "all",
    licensed: Callable[[Sequence[ToolSignature]], Collection[str] | None] = lambda _: None,
) -> Report:
    """Answer one line of a file of cases, `{"id", "tools", "text"}`; a line that is none is answered with what
    is wrong. `licensed` gives the licensed forms for its tools.
    """
    case: Any = None
    try:
        case = json.loads(line)
        if not is_object(case) or not isinstance(case.get("text"), str):
            raise UnusableInput('a case should be an object {"id", "tools", "text"}')
        finish_reason: Any = case.get("finish_reason")
        tools: Any = case.get("tools")
        known = signatures([] if tools is None else tools)
        answer = report_text(case["text"], known, chunk, finish_reason, level, licensed(known))
    except (ValueError, RecursionError) as error:
        message = str(error) if isinstance(error, UnusableInput) else "the line is not JSON"
        answer = {"calls": [], "content": "", "error": "invalid", "dialect": None, "problems": [message]}
    identity: Mapping[str, Any] = {"id": case.get("id") if is_object(case) else None}
    return {**identity, **answer}
