"""What a stretch of an answer turned out to be: text, calls, a thought, or nothing that is shown."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from console_app.textcalls.draft import CallAttempt, Reopening
from console_app.textcalls.leading import WRAPPED, Lead
from console_app.textcalls.patterns import lazily

_WORD = lazily(r"\S+")


@dataclass(slots=True)
class Segment:
    """A stretch of the answer. Its calls count only if there is no other (`fenced`), or no text (`alone`).
    `led`: how the text before leads to them. `after_words`: words stand before them on their line, `in_sentence`: after
    them. `follows_text`: text stands anywhere before them. `replacement` replaces the text of a segment that is shown
    otherwise. `longer`: the value of the last call goes on to an offset, which is decoded once, at the end.
    """

    kind: Literal["text", "calls", "thought", "dropped"]
    start: int
    end: int
    attempts: tuple[CallAttempt, ...] = ()
    fenced: bool = False
    alone: bool = False
    led: Lead = ""
    after_words: bool = False
    replacement: str | None = None
    follows_text: bool = False
    in_sentence: bool = False
    longer: tuple[Reopening, int] | None = None


def closed_up(text: str, before: list[str]) -> str:
    """The text without line breaks that would make more than one blank line of those that end what is before it."""
    shown = 0
    for piece in reversed(before):
        kept = piece.rstrip("\r\n")
        shown += piece.count("\n", len(kept))
        if kept or shown > 1:
            break
    else:
        shown = 2
    rest = text.lstrip("\r\n")
    breaks = text.count("\n", 0, len(text) - len(rest))
    return text if shown + breaks <= 2 else "\n" * max(0, 2 - shown) + rest


def unsaid(content: str, shown: str) -> str | None:
    """The rest of a text of which the beginning is shown, whatever its white space; None where that is another text."""
    for head in (shown, shown.lstrip()):
        if content.startswith(head):
            return content[len(head) :]
    letters, seen, end = "".join(shown.split()), 0, 0
    for found in _WORD.finditer(content):
        if seen == len(letters):
            break
        word = found.group()[: len(letters) - seen]
        if not letters.startswith(word, seen):
            return None
        seen, end = seen + len(word), found.start() + len(word)
    return content[end:] if seen == len(letters) else None


def unwrap(segments: Sequence[Segment], text_of: Callable[[Segment], str]) -> None:
    """The tags of a wrapper right around calls are no text: both of them, or one alone where the answer ends."""
    before: Segment | None = None
    called = False
    for segment in (*segments, None):
        text = text_of(segment) if segment else ""
        if segment and segment.kind == "calls":
            called = called or bool(segment.attempts)
        elif segment is None or (segment.kind == "text" and text.strip()):
            opened = WRAPPED.search(text_of(before)) if called and before else None
            end = f"</{opened[1]}>" if opened else ""
            if opened and before and (segment is None or text.lstrip().startswith(end)):
                before.replacement = opened.string[: opened.start()]
                if segment:
                    segment.replacement = text.lstrip().removeprefix(end)
            before, called = segment, False
