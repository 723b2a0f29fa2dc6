"""Where a block of Markdown that grew very long is cut in two, so that no frame has to parse more than a few pages.

Where it is cut depends on the text before alone, so a text looks the same however it came in. What follows the cut must
be read as what it was: behind a paragraph's it begins with a letter, which opens no block of another kind.
"""

from __future__ import annotations

import re

from console_app.tui.transcript_view.markdown_tail import is_closed

LONG = 8000  # characters of a block beyond which it is cut
HUGE = 4 * LONG  # of a kind of block that is cut only because it has to be
_TRIES = 24  # places looked at: each look reads all before it
_SENTENCE = re.compile(r"(?<=[.!?:;,])[ \n](?=[^\W\d_])")
_WORD = re.compile(r"[ \n](?=[^\W\d_])")


def cut_after(kind: str, text: str) -> int:
    """How many characters of a block, that `text` begins with, can be laid out for good; 0 while it isn't too long.

    `kind` is the type of its opening token.
    """
    if len(text) <= LONG:
        return 0
    if kind == "paragraph_open":
        return _in_paragraph(text)
    if kind == "table_open":
        return _in_table(text)
    if kind == "blockquote_open" and (line := text.rfind("\n>", 0, LONG)) > 0:
        return line + 1
    if len(text) <= HUGE:
        return 0
    return text.rfind("\n", 0, HUGE) + 1 or HUGE


def _in_paragraph(text: str) -> int:
    """Behind a sentence at which no emphasis, code or link is open, else behind any word."""
    for places in (_SENTENCE, _WORD):
        for number, found in enumerate(places.finditer(text, LONG // 2, LONG)):
            if number == _TRIES:
                break
            if is_closed(text[: found.start()]):
                return found.end()
    words = list(_WORD.finditer(text, LONG // 2, LONG))
    return words[-1].end() if words else HUGE if len(text) > HUGE else 0


def _in_table(text: str) -> int:
    """Behind a row; there are rows beside the head."""
    end = text.rfind("\n", 0, LONG) + 1
    return end if text.count("\n", 0, end) > 2 else 0


def table_head(text: str) -> str:
    """The two lines that a table begins with: what is left of it needs them too."""
    return "".join(line + "\n" for line in text.split("\n", 2)[:2])
