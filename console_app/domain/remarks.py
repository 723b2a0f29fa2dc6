"""What a result opens with for the model alone, and what people read in its place."""

from __future__ import annotations

from console_app.domain.tools import FAILED, Outcome

DENIED = "The user denied this call."
NOT_ALLOWED = "This call was not run:"
NOT_WAITED_FOR = "The user did not wait for this call."
CANCELLED = "The user cancelled this call."
SHARED = "Ran once, for all equal calls of this answer. Its result:"
REMARKS = (  # how each remark of `with_remarks` begins
    "This call ran without arguments that the tool doesn't have: ",
    "The user edited the arguments before this call ran. It ran with: ",
    "The user approved this call and said: ",
    "The user ran this call again: ",
    "The user was asked whether this call runs again, and it did not. What came of it before:",
    SHARED,
)

NOT_STARTED = "It had not started."
FORBIDDEN = "A rule forbids it:"
_TO_PEOPLE = (  # how what the model is told begins, and what people read there
    (f"{CANCELLED} {NOT_STARTED}", "You cancelled it before it started."),
    (CANCELLED, "You cancelled it."),
    (f"{NOT_WAITED_FOR} {NOT_STARTED}", "You sent the other results on before it started."),
    (NOT_WAITED_FOR, "You sent the other results on without it."),
    (f"{DENIED} {FORBIDDEN}", FORBIDDEN),
    (DENIED, "You denied it."),
    (NOT_ALLOWED, "It was not run:"),
)
ADVICE = (  # to the model
    " Read the first call's result; then ask for this one again if needed.",
    " Ask for this one again if it is still needed.",
    " Use the result you have.",
    " Use that result; asked for once more, the call runs.",
    " Go on with tools that only read, and say what you would do; the user leaves plan mode when it is to be done.",
)


def without_remarks(content: str, outcome: Outcome | None = None) -> str:
    """A result's own text: what `with_remarks` and a failure put before it is for the model, and the user knows it.
    Of a call that ended with such an `outcome` without a result of its own, in words for people."""
    own = content.partition("\n\n")[2] or content if content.startswith(REMARKS) else content
    if outcome in (Outcome.CANCELLED, Outcome.DENIED, Outcome.SKIPPED):
        for begin, words in _TO_PEOPLE:
            if own.startswith(begin):
                own = words + own[len(begin) :]
                break
        for advice in ADVICE:
            own = own.removesuffix(advice)
    return own.removeprefix(FAILED) or own
