"""The verdict on a call, as people are told it. `Outcome` says whether the tool worked; a tool that worked may still
have reported a failure, as exit 1 or status 404: `SAID_NO`, with its reason in a few words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from console_app.domain import safe_text
from console_app.domain.tools import COMMANDS, Outcome
from console_app.records import dataclass

_EXITS = ("exit_code", "exitCode", "exit_status", "exitStatus", "returncode", "return_code", "returnCode")
_STATUSES = ("status_code", "statusCode", "http_status", "httpStatus", "status")
_ADDRESSES = frozenset({"url", "uri", "href", "endpoint"})
_EXIT_LINE = re.compile(  # nothing in quotes or braces: a line of a JSON text states nothing of this command
    r"""(?i)^[^\w"'{]*(?:process |command )?(?:exit(?:ed)?|return)(?: with)?[ _-]*(?:code|status)?\W{0,3}"""
    r"""(-?\d{1,5})[^\w"',}]*$"""
)
_SOURCE = 4000  # characters at either end of a text in which an exit line is looked for
_MOST_JSON = 100_000  # characters of a text that is read as an object


class VerdictWord(StrEnum):
    """The verdicts, by the word that people read, in the order in which they are counted."""

    OK = "ok"
    SAID_NO = "said no"
    FAILED = "failed"
    TIMED_OUT = "timed out"
    INVALID = "invalid"
    INTERRUPTED = "interrupted"
    STOPPED = "stopped"
    DENIED = "denied"
    BLOCKED = "blocked"
    SKIPPED = "skipped"
    YOURS = "result changed by you"


_OF_OUTCOMES = {
    Outcome.SUCCEEDED: VerdictWord.OK,
    Outcome.CANCELLED: VerdictWord.STOPPED,
    **{one: VerdictWord[one.name] for one in Outcome if one.name in VerdictWord.__members__},
}
_GLYPHS = {
    VerdictWord.OK: "✓",
    VerdictWord.SAID_NO: "!",
    VerdictWord.FAILED: "✗",
    VerdictWord.TIMED_OUT: "✗",
    VerdictWord.STOPPED: "■",
    VerdictWord.DENIED: "⊘",
    VerdictWord.BLOCKED: "⊘",
    VerdictWord.SKIPPED: "»",
    VerdictWord.INVALID: "!",
    VerdictWord.INTERRUPTED: "✗",
    VerdictWord.YOURS: "≠",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on one call. `why` says it in a few words where the word alone doesn't: `exit 1`, `status 404`."""

    word: VerdictWord
    why: str = ""

    @property
    def glyph(self) -> str:
        return _GLYPHS[self.word]

    @property
    def is_good(self) -> bool:
        return self.word is VerdictWord.OK

    @property
    def needs_an_eye(self) -> bool:
        """Tell whether something went wrong that nobody decided: keys that go to failures stop at it."""
        return self.word in _WRONG


YOURS = Verdict(VerdictWord.YOURS)
"""The verdict of a call whose result the user wrote: it says nothing of how the tool did."""

_WRONG = frozenset(
    {VerdictWord.SAID_NO, VerdictWord.FAILED, VerdictWord.TIMED_OUT, VerdictWord.INVALID, VerdictWord.INTERRUPTED}
)


def verdict_of(
    outcome: Outcome, arguments: Mapping[str, Any] | None, content: str, structured: Mapping[str, Any] | None
) -> Verdict:
    if outcome is Outcome.SUCCEEDED and (why := _said_no(arguments or {}, content, structured)):
        return Verdict(VerdictWord.SAID_NO, why)
    return Verdict(_OF_OUTCOMES[outcome])


def exit_code(content: str, fields: Mapping[str, Any] | None) -> int | None:
    if fields is not None:
        code = _first(fields, _EXITS)
        if code is not None:
            return code
    lines = [*content[-_SOURCE:].split("\n")[::-1], *content[:_SOURCE].split("\n")]
    return next((int(found[1]) for line in lines if (found := _EXIT_LINE.match(line.strip())) is not None), None)


def exit_line(line: str) -> bool:
    return _EXIT_LINE.match(line.strip()) is not None


def _said_no(arguments: Mapping[str, Any], content: str, structured: Mapping[str, Any] | None) -> str:
    if not COMMANDS.isdisjoint(arguments):
        code = exit_code(content, structured if structured is not None else _object(content))
        ended = structured.get("ended") if structured is not None and "sandbox" in structured else None  # by our shell
        if code and isinstance(ended, str) and ended != "by itself":
            return ended
        return f"exit {code}" if code else ""
    if not _ADDRESSES.isdisjoint(arguments):
        status = _first(structured if structured is not None else _object(content), _STATUSES)
        return f"status {status}" if status is not None and 400 <= status < 600 else ""
    return ""


def _first(fields: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    return next((one for name in names if isinstance(one := fields.get(name), int) and one is not True), None)


def _object(content: str) -> Mapping[str, Any]:
    return safe_text.object_in(content) if content.lstrip().startswith("{") and len(content) <= _MOST_JSON else {}
