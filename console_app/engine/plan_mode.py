"""What the model is told of plan mode: once when it holds, and once when it doesn't any more.

Whether it was told is read from the history alone, so that undo, a resumed session and a summary that covers the note
each have it told again where it has to be.
"""

from __future__ import annotations

from console_app.domain.approvals import ApprovalMode
from console_app.domain.messages import UserMessage
from console_app.domain.transcript import Transcript

PLAN_ON = (
    "[Fanout: plan mode is on. Only tools that are known to be read-only run; calls of all others are denied. Look at "
    "what you need, change nothing, and end with a plan for the user to agree to.]"
)
PLAN_OFF = "[Fanout: plan mode is off. Tools that change things may be called again.]"


def note_for(mode: ApprovalMode, transcript: Transcript) -> str:
    """What the model has to be told before its next request; "" when it knows."""
    on = mode is ApprovalMode.PLAN
    if on == _was_told(transcript):
        return ""
    return PLAN_ON if on else PLAN_OFF


def _was_told(transcript: Transcript) -> bool:
    covered = transcript.compaction.covers if transcript.compaction else 0
    for message in reversed(transcript.history[covered:]):
        if isinstance(message, UserMessage) and message.origin == "fanout":
            if message.content == PLAN_ON:
                return True
            if message.content == PLAN_OFF:
                return False
    return False
