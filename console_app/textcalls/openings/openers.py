"""A regular expression that finds, in running text, whatever might begin something other than text."""

import re
from functools import cache

from console_app.textcalls.dialects import coats
from console_app.textcalls.dialects.table import DIALECTS
from console_app.textcalls.patterns import any_of, held_back, lazily, lead_word

LABELS = (
    "Action:", "ACTION:", "Action ", "ACTION ", "**Action", "**ACTION", "Tool Call:", "**Tool Call", "Observation:",
    "OBSERVATION:", "Observation ", "**Observation", ">>>",
)  # fmt: skip

OPENS: frozenset[str] = frozenset({*coats.OTHER_OPENS, *(token for row in DIALECTS for token in row.opens)})
BEGINS: frozenset[str] = frozenset(token for row in DIALECTS for token in row.begins)
_CLOSE_ALONE = ("<|call|>", "<end_action>", "<end_code>", "<|close|>tools<|sep|>", "]<]minimax[>[</tool_call>")
CLOSERS: frozenset[str] = frozenset((*coats.OTHER_CLOSES, *_CLOSE_ALONE)) - frozenset(coats.CHAT_TOKENS)
_REASONED = frozenset(end for tag, end in coats.THINKING.items() if tag not in coats.PLAIN_THINKING)
THINK_ENDS: frozenset[str] = _REASONED | {coats.FINAL}

KIND_OF: dict[str, str] = {
    **dict.fromkeys(coats.SILENT, "silent"),
    **dict.fromkeys(coats.THINKING, "thinking"),
    **dict.fromkeys(THINK_ENDS, "thought"),
    **dict.fromkeys((*OPENS, *BEGINS), "marker"),
    **dict.fromkeys(CLOSERS, "closer"),
    **dict.fromkeys(coats.CHAT_TOKENS, "chat"),
    **dict.fromkeys(coats.FABRICATED, "fabricated"),
}

_LONGER = {one for one in KIND_OF if any(other != one and other.startswith(one) for other in KIND_OF)}
EXTENDABLE = _LONGER | {literal[: literal.index(">") + 1] for literal in KIND_OF if ">" in literal[:-1]}
"""Literals with which longer ones begin, and what looks like a tag of its own until the rest of a longer one comes."""
LONGEST = max(map(len, KIND_OF))

_OBJECT_HELD = r"\{{1,2}(?:\s{0,64}(?:[\"']?(?:[A-Za-z_]\w{0,40}[\"']?\s{0,16})?)?)?\Z"


def _object(group: str) -> str:
    """Return a pattern of an object's opening up to the colon after its first key."""
    return r"\{{1,2}\s{0,64}[\"']?(?P<" + group + r">[A-Za-z_]\w{0,40})[\"']?\s{0,16}:"


_NAME = r"\w[\w.-]{0,80}"
_SHAPES = {
    "<": r"<?(?:[^\s=<>!-]|\Z)",
    "[": rf"\s{{0,64}}(?:[\{{TFtf/]|{_NAME}\s{{0,8}}(?:\(|\Z)|\Z)",
    "{": r"\{?\s{0,64}(?:[\"'A-Za-z_]|\Z)",
}
"""The first characters of what begins with no literal, and what has to follow them."""


@cache
def _leads() -> tuple[str, list[str]]:
    """Return the pattern of LEAD, and the words among its alternatives. Each begins with a literal character, for then
    the engine skips everything else at once; what follows a rare one is looked at, for a text may be full of it."""
    words, following = set[str](), {first: set[str]() for first in _SHAPES}
    for literal in (*KIND_OF, *LABELS, "`", "~~~", "◁t", "⟨t"):
        word = lead_word(literal)
        if len(word) < len(literal):
            following.setdefault(word, set()).add(literal[1])
        else:
            words.add(word)
    rare = [
        rf"{re.escape(first)}(?={'|'.join((*map(re.escape, sorted(seconds)), *shape))}|\Z)"
        for first, seconds in following.items()
        for shape in [[_SHAPES[first]] if first in _SHAPES else []]
    ]
    return "|".join((*map(re.escape, sorted(words)), *rare)), [word for word in words if len(word) > 1]


LEAD = lazily(lambda: _leads()[0])
"""Finds, quickly, where a TOKEN may begin. The patterns are the same for any tools: whether a name is that of a tool is
looked up when one is found."""
HALF_WORD = lazily(lambda: held_back(_leads()[1])[3:-1])  # no group, so that the engine knows the first characters
"""Finds, at the end of a text, what may become a token that begins with no rare character."""
PLAIN = lazily(lambda: f"{LEAD.pattern}|{HALF_WORD.pattern}")
TOKEN = lazily(
    lambda: (
        rf"(?P<literal>{any_of(KIND_OF)})"
        rf"|(?P<mark>{coats.MARK})"
        rf"|(?P<begin>{coats.BEGIN})"
        rf"|<(?P<tag>{_NAME})\s{{0,8}}/?>"
        rf"|(?P<label>{any_of(LABELS)})"
        r"|(?P<ticks>`|~~~)"
        rf"|\[\s{{0,64}}(?:{_object('member')}|(?P<callee>{_NAME})\s{{0,8}}\()"
        rf"|{_object('key')}"
    )
)
HELD = lazily(
    lambda: (
        rf"{held_back([*KIND_OF, *LABELS])}"
        rf"|<(?:{_NAME}\s{{0,8}}/?)?\Z"
        rf"|(?:{coats.HALF_MARK})\Z"
        rf"|(?:{coats.HALF_BEGIN})\Z"
        r"|~{1,2}\Z"
        rf"|\[\s{{0,64}}(?:\Z|{_OBJECT_HELD}|{_NAME}\s{{0,8}}\Z)"
        rf"|{_OBJECT_HELD}"
    )
)
"""A pattern of the end of a text that may become a TOKEN."""
LINE = lazily(
    rf"(?P<kept>[A-Za-z_]\w{{0,40}}\s{{0,8}}=\s{{0,8}})?(?P<print>print\s{{0,8}}\(\s{{0,8}})?(?P<callee>{_NAME})\s{{0,8}}\("
)
"""The opening of a Python call that begins an answer, with or without print() around it, and what may become it."""
HALF_LINE = lazily(
    r"(?P<kept>[A-Za-z_]\w{0,40}\s{0,8}=\s{0,8})?(?:print\s{0,8}\(\s{0,8})?(?P<half>[\w.-]{0,100})\s{0,8}\Z"
)
HALF_KEPT = lazily(r"[A-Za-z_]\w{0,40}\s{0,8}\Z")
