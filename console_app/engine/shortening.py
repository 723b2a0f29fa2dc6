"""Shortens the largest results in what is sent, where a model refused a request as too large and no older turns are
left to sum up: a first turn can fill the window by its own results.

The results stay whole in the history, on screen and on disk; the event that says so names what each request carries of
them from then on, so that the next one is not refused for the same.
"""

from __future__ import annotations

from console_app.domain import events as ev
from console_app.domain.amounts import CHARACTERS_A_TOKEN
from console_app.domain.messages import ToolMessage
from console_app.engine.context import characters, in_context
from console_app.engine.session import Session

LEAST = 1_000  # characters that each result keeps (`wire_history.LONG` is no more than this)
WORTH = 250  # characters that a cut must take out: the words that tell of it are as many


def shorten(session: Session) -> ev.Notice | None:
    """The news that the largest results are sent shorter, such that the request is at most half of what it was, or half
    of the window where that is less; None when there is no result to shorten."""
    transcript, settings = session.transcript, session.settings
    sent = in_context(transcript.history, transcript.compaction, settings.max_result_chars, transcript.shortened)
    total = sum(map(characters, sent))
    window = session.window()
    room = total // 2 if window is None else min(total // 2, window * CHARACTERS_A_TOKEN // 2)
    sizes = {
        one.tool_call_id: min(len(one.content), transcript.shortened.get(one.tool_call_id, len(one.content)))
        for one in sent
        if isinstance(one, ToolMessage) and len(one.content) > LEAST + WORTH
    }
    most = _level(sorted(sizes.values(), reverse=True), total - room)
    shortened = {call_id: most for call_id, size in sizes.items() if size > most + WORTH}
    if not shortened:
        return None
    count = len(shortened)
    what = "its largest result is" if count == 1 else f"its {count:,} largest results are"
    each = "" if count == 1 else " each"
    text = (
        f"The request was too large for the model: {what} sent shortened to {most:,} characters{each}, and it goes out "
        "again. All of it stays here and in the session."
    )
    return ev.Notice(level="warning", text=text, shortened=shortened)


def _level(sizes: list[int], excess: int) -> int:
    """To how many characters the largest of `sizes`, which fall, are cut for `excess` of them to go in all."""
    above = 0
    for count, size in enumerate(sizes, 1):
        above += size
        below = sizes[count] if count < len(sizes) else 0
        if above - count * below >= excess:
            return max((above - excess) // count, LEAST)
    return LEAST
