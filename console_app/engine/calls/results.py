"""Words what the model reads of a call that gave no result of its own: a function an outcome, all words in one
place."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Sequence
from typing import Any

from console_app.domain import FanoutError, Outcome, ToolResult, ToolSpec, plural, safe_text
from console_app.domain.tools import FAILED
from console_app.domain.transcript import ToModel, results
from console_app.engine.calls.arguments import compact

UNKNOWN_TOOL = "Unknown tool"  # how a result on a tool that isn't there begins; a server's words may follow
AVAILABLE = ". Available: "  # before the names of tools in it
INTERRUPTED = "Interrupted before completion."
SINGLE = "not executed: one tool a message"
QUOTATION = "It is a quotation, and no call."
SENT_NOTHING = "It had sent nothing so far."
NO_OUTPUT = "(the tool returned no output)"

_PLANNED = "plan mode is on, and this tool isn't known to be read-only."
MOST_STRUCTURED = 256 * 1024  # characters of JSON; more is only in the text
_RAW_SHOWN = 500  # characters of what could not be read
_NAMES_SHOWN = 40
_NAME_LENGTH = 200


def _so_far(lines: Sequence[str]) -> str:
    return "It had sent so far:\n" + "\n".join(lines) if lines else SENT_NOTHING


def _plain(outcome: Outcome, content: str, error: str | None = None) -> ToolResult:
    return ToolResult(outcome=outcome, content=content, error=error)


def seconds(duration: float) -> str:
    return f"{duration:.1f} s" if duration < 10 else f"{duration:.0f} s"


def of_tool(result: ToolResult, no_pictures: str = "") -> ToolResult:
    """Return a tool's result as a model reads it: failures in the agreed words, nothing empty, with what is to be told
    of it. `no_pictures` says why the model isn't shown pictures."""
    content = result.content
    if result.outcome is Outcome.FAILED and not content.startswith(FAILED):
        content = FAILED + (content or result.error or "no reason was given")
    if count := sum(one.is_picture for one in result.artifacts):
        them, goes, is_ = ("the picture", "goes", "is") if count == 1 else (f"the {count} pictures", "go", "are")
        said = f"{is_} not shown to the model: {no_pictures}" if no_pictures else f"{goes} to models that see"
        content += f"\n[Fanout: {them} {said}]"
    if result.remark:
        content = f"{content}\n[Fanout: {result.remark}]".lstrip()
    return (
        result if content and content == result.content else result.model_copy(update={"content": content or NO_OUTPUT})
    )


def as_value(result: ToolResult) -> ToolResult:
    """Return a tool's result as programs and scripts read it: what the tool gave, and nothing else."""
    if result.outcome is not Outcome.FAILED:
        return result
    return result.model_copy(update={"content": result.content.removeprefix(FAILED)})


def failed(error: BaseException) -> ToolResult:
    message = error.line if isinstance(error, FanoutError) else safe_text.encodable(str(error)).strip()
    text = message or type(error).__name__
    return _plain(Outcome.FAILED, FAILED + text, " ".join(text.split()))


def timed_out(
    ran: float, limit: float, sent: Sequence[str], *, whole_turn: bool = False, most_limits: int = 0
) -> ToolResult:
    """Return the result of a call ended after `ran` seconds: silent for `limit` seconds, at the end of its turn, or
    after `most_limits` times the limit."""
    reason = f"the turn reached its limit of {seconds(limit)}" if whole_turn else f"{seconds(limit)} without progress"
    if most_limits:
        reason = f"{most_limits} times its limit of {seconds(limit)}, with news to the end"
    error = f"timed out after {seconds(ran)} ({reason})"
    return _plain(Outcome.TIMED_OUT, f"This call {error}. {_so_far(sent)}", error)


def cancelled(sent: Sequence[str], *, started: bool) -> ToolResult:
    return _plain(Outcome.CANCELLED, f"{ToModel.CANCELLED} {_so_far(sent) if started else ToModel.NOT_STARTED}")


def denied(reason: str = "") -> ToolResult:
    return _plain(Outcome.DENIED, f"{ToModel.DENIED} {reason}".rstrip(), reason or None)


def changed_meanwhile(by: str) -> ToolResult:
    return _plain(Outcome.FAILED, f"{FAILED}{by}. Nothing was changed: read it again first.", by)


def not_approved(why: str) -> ToolResult:
    """Return the result of a call that a rule, a limit or an answer that never came held back; `why` is the rest of a
    sentence."""
    return _plain(Outcome.DENIED, f"{ToModel.NOT_ALLOWED} {why}", why)


def planned() -> ToolResult:
    return _plain(Outcome.DENIED, f"{ToModel.NOT_ALLOWED} {_PLANNED}{ToModel.ONLY_READ}", "not run: plan mode")


def interrupted(sent: Sequence[str] = ()) -> ToolResult:
    return _plain(Outcome.INTERRUPTED, f"{INTERRUPTED} {_so_far(sent)}" if sent else INTERRUPTED, "interrupted")


def not_waited_for(sent: Sequence[str], *, started: bool) -> ToolResult:
    text = f"{ToModel.NOT_WAITED_FOR} {_so_far(sent) if started else ToModel.NOT_STARTED}"
    return _plain(Outcome.CANCELLED, text, "you did not wait for it")


def in_background() -> ToolResult:
    return _plain(Outcome.SUCCEEDED, ToModel.IN_BACKGROUND)


def one_completion() -> ToolResult:
    return _plain(Outcome.SKIPPED, "not executed: another call of this answer completes it already.")


def not_single() -> ToolResult:
    return _plain(Outcome.SKIPPED, f"{SINGLE}.{ToModel.READ_FIRST}")


def too_many(most: int) -> ToolResult:
    text = f"not executed: one answer may make {plural(most, 'call')}.{ToModel.ASK_AGAIN}"
    return _plain(Outcome.SKIPPED, text)


def no_more_tools() -> ToolResult:
    return _plain(Outcome.SKIPPED, "not executed: no tool may be called in this answer.")


def repeated(times: int) -> ToolResult:
    text = f"skipped: the same call with the same arguments came {times} times in a row.{ToModel.USE_RESULT}"
    return _plain(Outcome.SKIPPED, text)


def answered_before() -> ToolResult:
    text = (
        "skipped: the same call with the same arguments succeeded earlier in this turn, and nothing ran since that "
        f"could change its answer.{ToModel.ONCE_MORE}"
    )
    return _plain(Outcome.SKIPPED, text)


def shared(result: ToolResult) -> ToolResult:
    return result.model_copy(update={"content": f"{ToModel.SHARED}\n\n{result.content}", "artifacts": ()})


def unreadable(problem: str, raw: str) -> ToolResult:
    shown = raw if len(raw) <= _RAW_SHOWN else f"{raw[:_RAW_SHOWN]}… ({len(raw)} characters)"
    received = f"\nReceived:\n{shown}" if shown.strip() else ""
    return _plain(Outcome.INVALID, f"{ToModel.NOT_ALLOWED} {problem}.{received}", problem)


def unknown_tool(name: str, available: Iterable[str], why: str = "") -> ToolResult:
    """Return the result of a call of a tool that isn't there (`why`, where that is known), with the names that are: the
    nearest first."""
    names = list(available)
    name = safe_text.one_line(name[:_NAME_LENGTH])
    near = difflib.get_close_matches(name, names, n=5, cutoff=0.5)
    ordered = [*near, *(other for other in names if other not in near)]
    more = f" and {len(ordered) - _NAMES_SHOWN} more" if len(ordered) > _NAMES_SHOWN else ""
    listed = (", ".join(ordered[:_NAMES_SHOWN]) or "none") + more
    because = f": {why}" if why else ""
    return _plain(Outcome.INVALID, f"{UNKNOWN_TOOL} {name}{because}{AVAILABLE}{listed}.", why or f"unknown tool {name}")


def with_remarks(
    result: ToolResult,
    edited: dict[str, Any] | None,
    feedback: str | None,
    runs: int = 1,
    left_out: Sequence[str] = (),
    hooked: dict[str, Any] | None = None,
) -> ToolResult:
    """Return a result that opens with how it came about: arguments edited or put in place by a hook (`hooked`), the
    user's words, the number of `runs`, arguments left out."""
    remarks: list[str] = []
    if left_out:
        names = ", ".join(name[:_NAME_LENGTH] for name in left_out[:_NAMES_SHOWN])
        remarks.append(f"{ToModel.LEFT_OUT}{names}.")
    if edited is not None:
        remarks.append(f"{ToModel.EDITED}{compact(edited)}")
    elif hooked is not None:
        remarks.append(f"{ToModel.HOOKED}{compact(hooked)}")
    if feedback:
        remarks.append(f"{ToModel.APPROVED}{feedback}")
    if runs > 1:
        remarks.append(f"{ToModel.RAN_AGAIN}it ran {runs} times, and this is the last result.")
    if not remarks:
        return result
    return result.model_copy(update={"content": "\n".join([*remarks, "", result.content])})


def not_again(before: ToolResult) -> ToolResult:
    gap = "\n" if before.content.startswith(results.REMARKS) else "\n\n"
    return before.model_copy(update={"content": f"{ToModel.NOT_AGAIN}{gap}{before.content}"})


def as_data(result: ToolResult, spec: ToolSpec) -> ToolResult:
    """Return a result as JSON by the tool's schema, which a program of the provider was given to read it by."""
    if result.structured is None or spec.output_schema is None or result.outcome is not Outcome.SUCCEEDED:
        return result
    return result.model_copy(update={"content": json.dumps(result.structured, ensure_ascii=False)})


def structured_beside(result: ToolResult) -> dict[str, Any] | None:
    """Return the structured content of a result for people; None where its text is that very JSON, or it is too
    much."""
    if result.structured is None:
        return None
    try:
        text = json.dumps(result.structured, ensure_ascii=False)
        structured: Any = json.loads(text) if len(text) <= MOST_STRUCTURED else None
    except (ValueError, RecursionError):
        return None
    return None if structured is None or _says(result.content, structured) else structured


def _says(content: str, structured: Any) -> bool:
    try:
        return len(content) <= MOST_STRUCTURED and json.loads(content) == structured
    except (ValueError, RecursionError):
        return False
