"""Tells two conversations apart as a diff, call by call: those of a session and of one that was forked from it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from console_app.domain import call_description, one_line
from console_app.domain.transcript import Transcript, comparison, results


def compared(one: Transcript, other: Transcript) -> str:
    lines = list(_differences(one, other))
    return "\n".join(lines) if lines else "They are the same: every call, its result and every answer."


def _differences(one: Transcript, other: Transcript) -> Iterator[str]:
    yield from comparison.call_differences(_calls(one), _calls(other))
    for number, (text, again) in enumerate(zip_longest(_answers(one), _answers(other), fillvalue=""), 1):
        yield from comparison.text_difference(f"answer {number}", text, again)


def _calls(transcript: Transcript) -> list[comparison.ComparedCall]:
    return [
        comparison.ComparedCall(
            one_line(call.label, 80), call_description.in_words(call), call.arguments, results.shown_text(call)
        )
        for turn in transcript.turns
        for call in turn.calls
    ]


def _answers(transcript: Transcript) -> list[str]:
    return [step.text for turn in transcript.turns for step in turn.steps if step.text.strip()]
