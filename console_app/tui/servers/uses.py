"""Uses of tools, prompts and resources: how many there were, how many failed, and how long they took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from console_app.domain import amounts, plural
from console_app.domain.transcript import CallView
from console_app.mcp_client import RawMessage, Traffic


@dataclass(slots=True)
class OfferUse:
    """A request for a prompt or a resource: `at` in seconds since the epoch, `arguments` as they were filled in.
    `answer` is None while there is none."""

    at: float
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])
    answer: RawMessage | None = None


def uses_of(traffic: Traffic, method: Literal["prompts/get", "resources/read"], name: str) -> list[OfferUse]:
    """Return the uses of a prompt (`name`) or a resource (its URI), as far back as the wire is kept, oldest first."""
    found: list[OfferUse] = []
    waiting: dict[int | str, OfferUse] = {}
    for message in traffic.after(0):
        if message.method != method or message.id is None:
            continue
        if message.sent and message.kind == "request":
            params = cast("dict[str, Any]", message.data.get("params") or {})
            if params.get("name", params.get("uri")) == name:
                found.append(OfferUse(message.at, params.get("arguments") or {}))
                waiting[message.id] = found[-1]
        elif not message.sent and (use := waiting.pop(message.id, None)) is not None:
            use.answer = message
    return found


def uses_in_brief(uses: Sequence[OfferUse]) -> str:
    """Say how many uses there were and failed, and how long the answers took."""
    answers = [use.answer for use in uses if use.answer is not None]
    failed = sum(answer.kind == "error" for answer in answers)
    took = sorted(answer.seconds for answer in answers if answer.seconds is not None)
    return _in_brief(plural(len(uses), "use"), failed, "", took)


def calls_in_brief(calls: Sequence[CallView]) -> str:
    """Say how many calls there were and failed, and how long those took that ran."""
    took = sorted(call.duration_ms / 1000 for call in calls if call.started_at is not None and call.outcome is not None)
    failed = sum(call.went_wrong for call in calls)
    open_calls = sum(call.outcome is None for call in calls)
    return _in_brief(plural(len(calls), "call"), failed, f"{open_calls} open" if open_calls else "", took)


def _in_brief(count: str, failed: int, more: str, took: Sequence[float]) -> str:
    """Join the words; half of the uses took the first time at most, all but one in twenty the second."""
    words = [count, f"{failed} failed" if failed else "none failed", more]
    if took:
        words += [f"p50 {amounts.measured(_percentile(took, 50))}", f"p95 {amounts.measured(_percentile(took, 95))}"]
    return " · ".join(filter(None, words))


def _percentile(ordered: Sequence[float], part: int) -> float:
    """Return the smallest of the values that `part` in a hundred of them don't exceed (nearest rank)."""
    return ordered[max(-(-len(ordered) * part // 100) - 1, 0)]
