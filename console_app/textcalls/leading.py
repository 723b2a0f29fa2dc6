"""What the text before a call says of it: who announces it, and whether it begins a block that something ends.

Nothing but its words tells "I'll look it up:" from "The page says:". So the few ways of speaking of oneself are known
here, not the many of quoting: what is announced otherwise asks, and is text where the answer goes on after it.
"""

import re
from collections import Counter
from typing import Literal, TypeAlias

from console_app.textcalls.patterns import lazily
from console_app.textcalls.source import LOOKAHEAD

Lead: TypeAlias = Literal["", "loose", "title", "other", "label"]
"""How the text leads to a call: not at all, or by a sentence in the first person · in some way that quotes where the
answer goes on behind the call: a sentence of something else, or one in the first person without an end, a point of a
list, a rule, the tag of a wrapper · by a line that is no sentence, as headings, names of files and prompts are · by a
colon or a delimiter · by a word and a colon, as a note is.
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
_RULE = lazily(r"^[ \t]*([-=*_+.$#~─━═])(?:[ \t]*\1){2,}[ \t]*$", re.MULTILINE)
_QUOTE = lazily(r"(?:^|(?<=\s))[\"'`]+")
_SHOWN_TAG = lazily(r"\S.*<[^<>\s/][^<>\s]*>")  # says `<tool_call>
_HEADING = lazily(r"#{1,6}[ \t]")
_SENTENCE = lazily(r"[.!?。！？](?:\s|(?<=[。！？]))")
_COLON = lazily(r"[:：][*_ \t]*$")
_LABEL = lazily(rf"[*_#`\s]*(?!(?i:json|{WRAPPERS})\W+$)[^\s`*_#:：]\S*?[`*_]*\s?[:：][*_ \t]*")
_SENTENCE_END = lazily(r"(?<=[^\s/.!?…=^<|\\{(\[+#:;,-])[.!?…。！？]+[\"'”’»」』)\]*_~`]*$")
_POINT = lazily(r"[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t].*|\|.*\|")
"""A point of a list, a row of a table."""
_NO_WORDS = lazily(r"`{3,}|~{3,}|.*</[\w:.-]+>|\W*(?![a-z\d])\w+[.!。！]+\W*")
"""A line that says nothing of what follows it: the end of a fence or an element, a word."""
_ASIDE = lazily(
    r"[(\[<{].*|[*_]{0,3}(?:[—–―~]|--)[ \t]*\S.*|(?:END|EOF|End of \w[\w ]*)"
    r"|[*_]{0,3}(?i:source|from|via|quelle|fuente|fonte|出典|来源)[*_ \t]*[:：].*"
    r"|[a-z].*|#{1,6}[ \t].*|([*_]{1,3})(?:(?!\1).)*\1|\w+://\S*|[\d./ ]+|[©®].*|\w+(?: \w+){0,2},"
)
"""A line behind what was quoted: who said it, where it stood, that it ends; a heading, a caption, a link, a number of
a page, the greeting of a letter; or a sentence that began before it.
"""
_WRAPPER = lazily(r"<[\w:.-]+>")
_NOTHING_SAID = lazily(rf"(?:\s|</[\w:.-]{{1,40}}>|<(?:{WRAPPERS})>)*+")
WRAPPED = lazily(rf"<({WRAPPERS})>\s*\Z")
_OWN = lazily(
    r"\bI\b|\b(?i:let me|let['’]s|let us|we|ich|wir|lass|je|j['’]\w+|nous|yo|voy|vamos|déjame|eu|vou|io|vado|ik|jag|"
    r"я|мы|давай|давайте)\b|[我咱私僕]|ます[:：]|겠"
)
_REFUSED = lazily(
    r"n['’]t\b|\b(?:not|never|refuse|cannot|saw|seen|found|got|received|quot\w*|cit(?:e|ing)|show\w*|zitier\w*)\b",
    re.IGNORECASE,
)
"""What is said in the first person of a call that is not made, or of what was met."""


def lead_of(text: str) -> Lead:
    """How a call is led to by the text before it, the end of which is enough."""
    before = text.rstrip()
    whole = before.rpartition("\n")[2].strip()
    line = _QUOTE.split(whole)[-1].strip()
    own, ended = _announces(line), _SENTENCE_END.search(whole) is not None
    if _COLON.search(line) and len(line.strip(_MARK + " \t")) > 0:
        return "loose" if own else "label" if _LABEL.fullmatch(line) else "other"
    if _SHOWN_TAG.fullmatch(whole) or (_DELIMITER.fullmatch(line) and not line.startswith("~~~")):
        return "other"
    if _HEADING.match(line) or (text.endswith((" ", "\t")) and line.isalpha()):
        return "title"
    rules = Counter(found.group().strip() for found in _RULE.finditer(before))
    if _WRAPPER.fullmatch(whole) or any(count % 2 for count in rules.values()):
        return "loose"
    if not whole or _NO_WORDS.fullmatch(whole) or (own and ended):
        return ""
    return "loose" if own or ended or _POINT.fullmatch(whole) else "title"


def _announces(line: str) -> bool:
    """Whether the last clause of a line says, in the first person, what its writer does next."""
    clause = _SENTENCE.split(line)[-1]
    return _OWN.search(clause) is not None and _REFUSED.search(clause) is None


def says_something(text: str) -> bool:
    """Whether text after a call is more than the ends of the elements around it."""
    return _NOTHING_SAID.fullmatch(text) is None


def is_aside(text: str) -> bool:
    """Whether the text after a call begins with a line that is no sentence, as one behind a quotation is."""
    line = text.lstrip()[:LOOKAHEAD].partition("\n")[0].strip()
    return _ASIDE.fullmatch(line) is not None or _DELIMITER.fullmatch(line) is not None
