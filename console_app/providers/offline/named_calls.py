"""The rule for calls written out: `server.tool {json}`, one or many, run with exactly these arguments."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, cast

from console_app.domain import ToolSpec, one_line
from console_app.domain import schema as json_schema
from console_app.providers.offline.rule import AnswerRule, AskedPrompt, OfflineTools, PlannedCall, RuleFinding
from console_app.providers.stream.loose_json import no_constant

_WITH_JSON = re.compile(r"(?<![\w.-])([A-Za-z_][\w-]*(?:\.[\w-]+){0,3})[ \t`]*(\()?[ \t`]*(?=\{)")
_ALONE = re.compile(
    r"^[ \t`]*(?:(?:please[ \t]+)?(?:call|run|use)[ \t]+)?`?([\w-]+\.[\w-]+)`?[ \t]*[.!]?[ \t]*$", re.I | re.M
)


_JSON = json.JSONDecoder(parse_constant=no_constant)


def _read(asked: AskedPrompt, tools: OfflineTools) -> Iterator[RuleFinding]:
    at = 0
    while found := _WITH_JSON.search(asked.text, at):
        finding = _with_json(asked.text, found, tools)
        at = found.end() + 1
        if finding:
            yield finding
            at = max(at, finding.span[1])
    for line in _ALONE.finditer(asked.text):
        if spec := tools.lookup(line[1]):
            lacking = json_schema.required(spec.input_schema)
            if lacking:
                yield RuleFinding(line.span(), problem=_lacks(spec, lacking))
            else:
                yield RuleFinding(line.span(), (PlannedCall(spec, "{}"),))


def _with_json(text: str, found: re.Match[str], tools: OfflineTools) -> RuleFinding | None:
    name, start = found[1], found.start()
    spec = tools.lookup(name)
    if spec is None and "." not in name:
        return None  # a word before a brace: code, most likely
    line_end = text.find("\n", found.end())
    try:
        value, end = _JSON.raw_decode(text, found.end())
    except (ValueError, RecursionError) as error:
        end = len(text) if line_end < 0 else line_end
        why = error.msg if isinstance(error, json.JSONDecodeError) else one_line(str(error), 80)
        return RuleFinding(
            (start, end), problem=f"I did not call `{one_line(name, 80)}`: its arguments are not JSON ({why})."
        )
    if spec is None:
        known = ", ".join(f"`{one_line(tool.label, 60)}`" for tool in tools.tools[:8]) or "none"
        problem = f"There is no tool `{one_line(name, 80)}` on. Those that are on: {known}."
        return RuleFinding((start, end), problem=problem, server=name.partition(".")[0])
    lacking = [key for key in json_schema.required(spec.input_schema) if key not in cast("dict[str, Any]", value)]
    if lacking:
        return RuleFinding((start, end), problem=_lacks(spec, lacking))
    return RuleFinding((start, end), (PlannedCall(spec, text[found.end() : end]),))


def _lacks(spec: ToolSpec, keys: list[str] | tuple[str, ...]) -> str:
    names = ", ".join(f"`{one_line(key, 40)}`" for key in keys)
    return f"I did not call `{one_line(spec.label, 80)}`: it needs {names}."


NAMED_CALLS = AnswerRule(
    can='call any tool you name with its arguments: `server.tool {"key": "value"}`, several at once',
    able=lambda tools: bool(tools.tools),
    read=_read,
)
