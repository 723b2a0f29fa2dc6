"""The stretches of an answer: text, calls, a thought or nothing that is shown."""

from dataclasses import dataclass
from typing import Literal

from console_app.textcalls.bodies.draft import CallAttempt, Reopening
from console_app.textcalls.patterns import lazily

_WORD = lazily(r"\S+")


@dataclass(slots=True)
class Segment:
    """A stretch of the answer. Its calls count only if there is no other (`fenced`), or no text (`alone`); `doubt` says
    why they may be quoted. `follows_text`: text stands before them. `replacement` replaces the text of a segment that
    is shown otherwise. `longer`: the value of the last call goes on to an offset, which is decoded once, at the end.
    `final`: its calls may have started.
    """

    kind: Literal["text", "calls", "thought", "dropped"]
    start: int
    end: int
    attempts: tuple[CallAttempt, ...] = ()
    fenced: bool = False
    alone: bool = False
    doubt: str = ""
    follows_text: bool = False
    replacement: str | None = None
    longer: tuple[Reopening, int] | None = None
    final: bool = False


def closed_up(text: str, before: list[str]) -> str:
    """The text without line breaks that would make more than one blank line of those that end what is before it."""
    if text[:1] not in ("\n", "\r"):
        return text
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
