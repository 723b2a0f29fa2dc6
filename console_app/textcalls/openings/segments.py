"""The stretches of an answer: text, calls, a thought or nothing that is shown, and how the text before leads to calls.

No words tell "I'll look it up:" from "The page says:", so none are looked at: a sentence leads to a call, with a colon
or a full stop, and a heading, a file's name, a delimiter or a label make it ask.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from console_app.textcalls.bodies.draft import CallAttempt, Reopening
from console_app.textcalls.patterns import lazily, partly

Lead: TypeAlias = Literal["", "colon", "mark", "label"]
"""How the text leads to a call: as a sentence does, or not at all · by a sentence that ends in a colon · by a line that
is none: a delimiter, a heading, a prompt, a name alone, a clause that goes on · by a word and a colon, as a note is, by
a colon that the call does not follow at the start of a line, or by any of these where the call is indented.
"""

WRAPPERS = (
    "answer|final_answer|response|action|actions|message|assistant|tool_use|tool_calls|function_calls|calls|"
    "tool_code|tool_call|function_call|function|tool|call|invoke"
)
"""Elements in which some models put all that they say, and tags of calls, which quote nothing if they are stray."""
_MARK = r"-=*_+.$:^@(\[{<|%&!#~─━═❝"
_DELIMITER = lazily(
    rf"[{_MARK}]+"
    r"|([-=+_$:@%!.])\1+[ \t]*[^\s].*"  # --- page ---, ==> a.txt <==, :::note
    r"|[\[{][^\]}]*[\]}]|[.=@\\][a-z]\w*"  # [source,xml], {panel}, .nf, =pod
    r"|[A-Z][A-Z _-]{3,}"
)
_QUOTE = lazily(r"(?:^|(?<=\s))[\"'`]+")
_SHOWN_TAG = lazily(r"\S.*<[^<>\s/][^<>\s]*>")  # says `<tool_call>
_HEADING = lazily(r"(?:#{1,6}|[$%@]{1,2})[ \t].*")
_COLON = lazily(r"[:：][*_ \t]*$")
_UNSPACED = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
"""Scripts that put no blanks between words: more than two of their letters may be a sentence."""
LABEL = lazily(rf"[*_#`\s]*(?!(?i:json|{WRAPPERS})\W+$)(?!\S*[{_UNSPACED}]{{3}})[^\s`*_#:：]\S*?[`*_]*\s?[:：][*_ \t]*")
_NAME = lazily(r"(?:[\w-]+:[ \t]+)?[!-~]+(?<![.!?>)`\]}])|`[!-~]+`|\*\*[!-~]+\*\*")
"""One word of ASCII that ends no sentence, as a file's name or the value of a field."""
_UNFINISHED = lazily(r".*[,;、，；—–-]")
_EXAMPLE = lazily(
    r"\b(?:for (?:example|instance)\b|e\.g\.|an example\b|looks? like\b|would (?:be|look)\b|such as\b|syntax is\b)"
    r"[^.!?\n]{0,80}$",
    re.IGNORECASE,
)
"""An example in so many words, in the clause that leads to it."""
_EXAMPLES = lazily(r"\W*(?:(?:for|an?|some) )?(?:examples?|instance|e\.g)(?: \d+)?\W*", re.IGNORECASE)
_NOTHING_SAID = lazily(rf"(?:\s|</[\w:.-]{{1,40}}>|<(?:{WRAPPERS})>)*+")
WRAPPED = lazily(rf"<({WRAPPERS})>\s*\Z")
MAYBE_WRAPPED = lazily(lambda: rf"(?:{partly(f'<{word}>' for word in WRAPPERS.split('|'))}|<(?:{WRAPPERS})>\s*)\Z")
"""The tag of a wrapper that ends a text, or half of one."""
_WORD = lazily(r"\S+")


def lead_of(text: str) -> Lead:
    """Return how the text before a call leads to it; the end of that text is enough."""
    before = text.rstrip()
    whole, blanks = before.rpartition("\n")[2].strip(), text[len(before) :]
    line = _QUOTE.split(whole)[-1].strip()
    indented = "\n" in blanks and not blanks.endswith("\n")
    if is_example(whole, in_line="\n" not in blanks):
        return "label"
    if ends_in_colon(line):
        return "label" if indented or "\n" not in blanks or LABEL.fullmatch(line) else "colon"
    shapes = (
        _SHOWN_TAG.fullmatch(whole),
        _DELIMITER.fullmatch(line) and not line.startswith("~~~"),
        blanks.endswith((" ", "\t")) and line.isalpha(),
        _HEADING.fullmatch(line),
        _NAME.fullmatch(whole),
        _UNFINISHED.fullmatch(line),
    )
    return ("label" if indented else "mark") if any(shapes) else ""


def is_example(line: str, *, in_line: bool = False) -> bool:
    """Whether a line calls what follows it an example; `in_line`: on the line itself."""
    line = line.rstrip()
    if in_line:
        return _EXAMPLE.search(line.rstrip(" \t:,")) is not None
    return _EXAMPLES.fullmatch(line) is not None or (line.endswith(":") and _EXAMPLE.search(line[:-1]) is not None)


def ends_in_colon(line: str) -> bool:
    """Whether a line says something and ends in a colon."""
    return _COLON.search(line) is not None and line.strip(_MARK + " \t") != ""


def says_something(text: str) -> bool:
    """Whether text after a call is more than the ends of the elements around it."""
    return _NOTHING_SAID.fullmatch(text) is None


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
