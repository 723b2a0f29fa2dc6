"""The account of an agent's work: what its parent and people read of one that ended early, and the figures of a row."""

from __future__ import annotations

from console_app.domain import Outcome, amounts, call_description, one_line, plural
from console_app.domain.tools import Risk
from console_app.domain.transcript import CallView, Transcript

MOST_TEXT = 4_000  # characters of its own words
MOST_CALLS = 40
MOST_FILES = 40


def account(transcript: Transcript, now: float) -> str:
    """Return what an agent had when it ended early: time, calls, files that it changed, and its words so far."""
    turn = transcript.turn
    if turn is None:
        return ""
    calls = [call for call in turn.calls if not call.parent or call.parent not in transcript.calls]
    took = amounts.seconds((turn.finished_at or now) - turn.started_at)
    lines = [f"It had worked for {took}, with {plural(len(calls), 'call')}."]
    if files := changed_files(calls):
        lines.append(f"Files that it changed: {', '.join(files[:MOST_FILES])}.")
    if calls:
        lines += ["Its calls, the newest last:", *(f"- {_line(call)}" for call in calls[-MOST_CALLS:])]
    words = "\n\n".join(step.text.strip() for step in turn.steps if step.text.strip())
    if words:
        cut = "" if len(words) <= MOST_TEXT else "[…] "
        lines += ["Its words so far:", cut + words[-MOST_TEXT:]]
    return "\n".join(lines)


def changed_files(calls: list[CallView]) -> list[str]:
    """Return the files that calls which ran have changed or may have, as their arguments name them."""
    found: dict[str, None] = {}
    for call in calls:
        arguments = call.arguments or {}
        if call.started_at is None or Risk.of(None, arguments).word not in ("edits", "creates", "deletes"):
            continue
        found.update((value, None) for name, value in arguments.items() if "path" in name and isinstance(value, str))
    return [one_line(path, 200) for path in found]


def _line(call: CallView) -> str:
    arguments = call.arguments or {}
    main = one_line(str(arguments[call_description.main_argument(arguments)]), 120) if arguments else ""
    came = call_description.in_words(call) if call.outcome is not Outcome.SUCCEEDED else "ok"
    return " ".join(filter(None, (call.tool or call.name, main, f"· {came}")))
