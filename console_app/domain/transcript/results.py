"""Results as people read them: what they say to the model alone is left out, or said in words for people. Two runs of
calls are compared in lines that say where they differ, for batches and conversations alike."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any

from console_app.domain.amounts import size
from console_app.domain.safe_text import one_line
from console_app.domain.tools import FAILED, Artifact, Outcome
from console_app.domain.transcript.views import CallView
from console_app.records import dataclass

MARKS = re.compile(r"^\s*(#+|[>*+-])\s+|(?<![\w/*])\*\*(?=[^\s*/])|(?<=[^\s*/])\*\*(?![\w/*])|`+")  # of Markdown


class ToModel(StrEnum):
    """The sentences in which results tell the model of the call itself: people read other words in their place."""

    DENIED = "The user denied this call."
    NOT_ALLOWED = "This call was not run:"
    NOT_WAITED_FOR = "The user did not wait for this call."
    IN_BACKGROUND = "This call still runs, in the background: its result follows in a later message. Go on without it."
    CANCELLED = "The user cancelled this call."
    NOT_STARTED = "It had not started."
    # Remarks: a result opens with them, before its own text.
    LEFT_OUT = "This call ran without arguments that the tool doesn't have: "
    EDITED = "The user edited the arguments before this call ran. It ran with: "
    HOOKED = "A hook changed the arguments before this call ran. It ran with: "
    APPROVED = "The user approved this call and said: "
    RAN_AGAIN = "The user ran this call again: "
    NOT_AGAIN = "The user was asked whether this call runs again, and it did not. What came of it before:"
    SHARED = "Ran once, for all equal calls of this answer. Its result:"
    YOURS = "[Fanout: the user wrote this result in place of the tool's.]"
    # Advice: a result ends with it.
    READ_FIRST = " Read the first call's result; then ask for this one again if needed."
    ASK_AGAIN = " Ask for this one again if it is still needed."
    USE_RESULT = " Use the result you have."
    ONCE_MORE = " Use that result; asked for once more, the call runs."
    ONLY_READ = (
        " Go on with tools that only read, and say what you would do; the user leaves plan mode when it is to be done."
    )


REMARKS = (
    *(ToModel.LEFT_OUT, ToModel.EDITED, ToModel.HOOKED, ToModel.APPROVED),
    *(ToModel.RAN_AGAIN, ToModel.NOT_AGAIN, ToModel.SHARED, ToModel.YOURS),
)
_ADVICE = (ToModel.READ_FIRST, ToModel.ASK_AGAIN, ToModel.USE_RESULT, ToModel.ONCE_MORE, ToModel.ONLY_READ)
_TO_PEOPLE = (  # how what the model is told begins, and what people read there
    (f"{ToModel.CANCELLED} {ToModel.NOT_STARTED}", "You cancelled it before it started."),
    (ToModel.CANCELLED, "You cancelled it."),
    (f"{ToModel.NOT_WAITED_FOR} {ToModel.NOT_STARTED}", "You sent the other results on before it started."),
    (ToModel.NOT_WAITED_FOR, "You sent the other results on without it."),
    (ToModel.DENIED, "You denied it."),
    (ToModel.NOT_ALLOWED, "It was not run:"),
    ("skipped: ", ""),  # as its row says already
)
_SENTENCE = re.compile(r"\[[^\[\]\n]{1,200} of type image/[^\n]{0,100} bytes, saved as ([^\n]+)\]\n?")
_SDK_WORDS = re.compile(r"^\s*Error executing tool \S+: (?=\S)")  # before any error of a server made with one SDK
_REMARK = re.compile(r"\n?\[Fanout: the (?:\d+ )?pictures? [^\n]*\]\Z")


def without_remarks(content: str, outcome: Outcome | None = None) -> str:
    """Return a result's own text, without remarks and failure marks. A call without a text of its own has its `outcome`
    said for people."""
    own = content.partition("\n\n")[2] or content if content.startswith(REMARKS) else content
    if outcome in (Outcome.CANCELLED, Outcome.DENIED, Outcome.SKIPPED):
        for begin, words in _TO_PEOPLE:
            if own.startswith(begin):
                own = words + own[len(begin) :]
                break
        for advice in _ADVICE:
            own = own.removesuffix(advice)
    return own.removeprefix(FAILED) or own


def shown_text(call: CallView) -> str:
    text = without_remarks(call.content, call.outcome)
    paths = {one.path for one in call.artifacts if one.is_picture}
    if not paths or call.outcome is not Outcome.SUCCEEDED:
        return text
    rest = _SENTENCE.sub(lambda found: "" if found[1] in paths else found[0], _REMARK.sub("", text))
    return text if rest == text else rest.rstrip("\n")


def own_error(text: str) -> str:
    return _SDK_WORDS.sub("", next((line for line in text.split("\n") if line.strip()), ""))


def pictures_in_words(pictures: Sequence[Artifact]) -> str:
    if len(pictures) == 1:
        return f"picture, {pictures[0].picture_facts}"
    return f"{len(pictures)} pictures · {size(sum(one.size for one in pictures))}"


_SHOWN = 60  # characters of a text from where it differs


@dataclass(frozen=True, slots=True)
class ComparedCall:
    """A call as far as it is compared; `outcome` is the word for how it ended. Times are no difference."""

    tool: str
    outcome: str
    arguments: Mapping[str, Any] | None
    content: str


def call_differences(calls: Sequence[ComparedCall], others: Sequence[ComparedCall]) -> Iterator[str]:
    for number, (call, again) in enumerate(zip(calls, others, strict=False), 1):
        where = f"call {number}, {call.tool}"
        if call.tool != again.tool:
            yield f"{where}: it is {again.tool} now"
            continue
        if call.outcome != again.outcome:
            yield f"{where}, outcome: {call.outcome} → {again.outcome}"
        yield from text_difference(f"{where}, arguments", as_json(call.arguments), as_json(again.arguments))
        yield from text_difference(f"{where}, result", call.content, again.content)
    if len(calls) != len(others):
        yield f"calls: {len(calls)} → {len(others)}"


def text_difference(what: str, one: str, other: str) -> Iterator[str]:
    """Yield a line with both texts from a little before where they differ; nothing where they are the same."""
    if one == other:
        return
    same = next((n for n, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), None)
    begin = max((min(len(one), len(other)) if same is None else same) - _SHOWN // 3, 0)
    lead = "…" if begin else ""
    yield f"{what}: “{lead}{one_line(one[begin:], _SHOWN)}” → “{lead}{one_line(other[begin:], _SHOWN)}”"


def as_json(value: object) -> str:
    """Write a value so that equal ones are the same text."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False)
