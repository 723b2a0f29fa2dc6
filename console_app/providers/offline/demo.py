"""The rule for the demo server: long tasks side by side, status updates, a failure, a big result."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from console_app.providers.offline.rule import (
    COUNT,
    QUOTED,
    AnswerRule,
    AskedPrompt,
    Match,
    OfflineTools,
    PlannedCall,
    RuleFinding,
    count_of,
    missing,
    reader,
    unquoted,
)

_SECONDS = r"(?:s|secs?|seconds?)\b"
_DURATIONS = (
    r"((?:\d{1,5}(?:\.\d+)?\s*(?:s|secs?|seconds?)?(?:\s*,\s*(?:and\s+)?|\s+and\s+))*\d{1,5}(?:\.\d+)?)\s*" + _SECONDS
)
_TASKS = re.compile(
    rf"\b(?:({COUNT})\s+)?(long[\s_-]*(?:running\s+)?|running\s+|demo\s+|)`?(?:long_)?tasks?`?s?\b"
    rf"(?:[^.\d\n;]{{0,40}}?{_DURATIONS})?",
    re.IGNORECASE,
)
_RUN = re.compile(r"\b(?:run|start|launch|begin|try|show|do)\s+(?:me\s+)?(?:the\s+)?$", re.IGNORECASE)
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_UPDATES = re.compile(
    rf"\b(?:(?:show|send|give|run|demo)\s+(?:me\s+)?)?(?:({COUNT})\s+)?status[\s_-]updates?\b(?:\s+with\s+({COUNT})\s+stages)?",
    re.IGNORECASE,
)
_FAILURE = re.compile(
    r"\b(?:make|let|show\s+me)\s+(?:a|one|the)\s+(?:demo\s+)?(?:call|tool|task|failure|failing\s+(?:call|tool))(?:\s+fail)?\b"
    r"|\bfail\s+(?:with|saying)\b",
    re.IGNORECASE,
)
_SHOW = re.compile(r"\bshow\s+me\s+what\s+you\s+can\s+do\b", re.IGNORECASE)
_SHOWN = (  # what takes its time, with its seconds
    *(("index the archive", 9), ("copy the photos", 7), ("build the site", 6), ("sort the letters", 4)),
    *(("count the words", 2), ("warm up", 1)),
)
_QUOTE = re.compile(rf"[^\n\"'`“‘]{{0,40}}({QUOTED})")
_BIG = re.compile(
    r"\b(?:big|large|huge)\s+(?:result|output|answer|text)\s+(?:of|with)\s+(\d{1,9})\s*(k|m)?(?:i?b|bytes?)\b",
    re.IGNORECASE,
)
_SENTENCE_ENDS = re.compile(r"[.!?](?=\s|$)|[;\n]")
_DEFAULT_SECONDS = 3.0


def _long_task(tools: OfflineTools) -> Match | None:
    return tools.find(("long_task",), task=("task", "name"), seconds=("duration_seconds", "duration", "seconds"))


def _tasks(asked: AskedPrompt, tools: OfflineTools) -> Iterator[RuleFinding]:
    number = 0
    for found in _TASKS.finditer(asked.text):
        if not found[3] and not (found[2] and _RUN.search(asked.text, max(0, found.start() - 30), found.start())):
            continue  # a task may be anything
        tool = _long_task(tools)
        if tool is None:
            yield missing(found.span(), "run a long task", "demo.long_task")
            continue
        durations = [min(float(one), 3600.0) for one in _NUMBER.findall(found[3] or "")] or [_DEFAULT_SECONDS]
        count = max(count_of(found[1]), len(durations))
        calls: list[PlannedCall] = []
        for index in range(count):
            number += 1
            seconds = durations[min(index, len(durations) - 1)]
            calls.append(tool.call(task=f"task {number}", seconds=int(seconds) if seconds.is_integer() else seconds))
        yield RuleFinding(found.span(), tuple(calls))


def _show(asked: AskedPrompt, tools: OfflineTools) -> Iterator[RuleFinding]:
    """Twelve calls at once where the tools are on: work, a failure, a command that says no, one that asks first."""
    found = _SHOW.search(asked.text)
    task, stages = _long_task(tools), tools.find(("status_updates",), stages=("stages",))
    fail, check = tools.find(("fail",), message=("message",)), tools.find(("check",), command=("command",))
    publish = tools.find(("publish",), title=("title",))
    sums = tools.find(("evaluate",), expression=("expression",))
    if found is None or not (task and stages and fail and check and publish and sums):
        return
    calls = [task.call(task=name, seconds=seconds) for name, seconds in _SHOWN]
    calls[2:2] = [check.call(command="./check --all"), publish.call(title="What is new in May")]
    calls += [
        stages.call(stages=["fetch", "unpack", "compare", "install", "tidy up"]),
        fail.call(),
    ]
    calls += [sums.call(expression=expression) for expression in ("355/113", "e^pi")]
    yield RuleFinding(found.span(), tuple(calls))


def _updates(asked: AskedPrompt, tools: OfflineTools, tasks: Sequence[RuleFinding]) -> Iterator[RuleFinding]:
    for found in _UPDATES.finditer(asked.text):
        counted = found[1] or found[2]
        around = [sorted([task.span, found.span()]) for task in tasks]
        if not counted and any(not _SENTENCE_ENDS.search(asked.text, one[1], other[0]) for one, other in around):
            continue  # how the tasks of the same sentence tell of themselves
        tool = tools.find(("status_updates",), stages=("stages",))
        if tool is None:
            yield missing(found.span(), "show status updates", "demo.status_updates")
            continue
        count = count_of(found[2]) if found[2] else 4
        stages: Any = count
        if tool.kind("stages") == "array":
            stages = [f"stage {index + 1}" for index in range(count)]
        yield RuleFinding(found.span(), tuple(tool.call(stages=stages) for _ in range(count_of(found[1]))))


def _failures(asked: AskedPrompt, tools: OfflineTools) -> Iterator[RuleFinding]:
    tool = tools.find(("fail",), message=("message", "error"))
    for found in _FAILURE.finditer(asked.text) if tool else ():
        quote = _QUOTE.match(asked.text, found.end(), found.end() + 400)
        message = unquoted(quote[1]) if quote else "a failure you asked for"
        yield RuleFinding((found.start(), (quote or found).end()), (tool.call(message=message),) if tool else ())


def _big(tool: Match, found: re.Match[str]) -> list[PlannedCall]:
    scale = {"k": 1_000, "m": 1_000_000}.get((found[2] or "").lower(), 1)
    return [tool.call(size=min(int(found[1]) * scale, 100_000_000))]


_read_big = reader(_BIG, lambda tools: tools.find(("big",), size=("bytes", "size")), _big)


def _read(asked: AskedPrompt, tools: OfflineTools) -> Iterator[RuleFinding]:
    tasks = list(_tasks(asked, tools))
    return chain(
        _show(asked, tools), tasks, _updates(asked, tools, tasks), _failures(asked, tools), _read_big(asked, tools)
    )


DEMO = AnswerRule(
    can="show calls that take their time: `run two long tasks of 6 s`, `show status updates`",
    able=lambda tools: _long_task(tools) is not None,
    read=_read,
)
