"""How large an answer may be asked for, where an endpoint refused a token limit and said so in its own words.

A refused limit reads much like a full context: what tells them apart is whether the answer's part is at fault, and
whether room is left once it is smaller.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

LEAST_ROOM = 256  # tokens for an answer; with fewer the context is full

_OF_ANSWERS = re.compile(
    r"max_?(completion_|output_|new_)?tokens|maxOutputTokens|max(imum)? (output |completion |new )?tokens"
    r"|completion tokens|output tokens|in the (completion|output)|for the completion",
    re.IGNORECASE,
)
_N = r"([\d,_]+)"
_CONTEXT = re.compile(
    rf"(?:context (?:length|window|limit)|model'?s context)\D{{0,24}}{_N}(?! input| > )", re.IGNORECASE
)
_INPUT = re.compile(
    rf"{_N} (?:tokens )?(?:(?:in|from) the (?:input |prompt |)(?:messages|prompt|input)|of text input|input tokens"
    rf"|prompt tokens|tokens from the input)|passed {_N} input tokens",
    re.IGNORECASE,
)


def _number(digits: str) -> int:
    return int(re.sub(r"\D", "", digits))


# A limit that stands in the message, whatever the request: vLLM, OpenAI, Anthropic, Qwen, DeepSeek, Mistral, Groq,
# Gemini, Cohere, Bedrock, and OpenRouter (what is left on the account).
_LARGEST: tuple[tuple[str, Callable[[re.Match[str]], int]], ...] = (
    (rf"can only afford {_N}", lambda found: _number(found[1])),
    (rf"max_tokens\D{{0,20}}[\d,]+ ?> ?{_N}, which is the maximum", lambda found: _number(found[1])),
    (rf"supports? at most {_N}", lambda found: _number(found[1])),
    (rf"\[\s*\d+\s*,\s*{_N}\s*\]", lambda found: _number(found[1])),
    (rf"to {_N} \(exclusive\)", lambda found: _number(found[1]) - 1),
    (rf"to {_N} \(inclusive\)", lambda found: _number(found[1])),
    (
        rf"(?:less than or equal to|lower than or equal to|at most|not exceed|no more than|<=) ?[`'\"]?{_N}",
        lambda found: _number(found[1]),
    ),
    (
        rf"(?:limit of|maximum of|maximum (?:value )?(?:is|allowed is|allowed:)) ?[`'\"]?{_N}",
        lambda found: _number(found[1]),
    ),
    (rf"max_tokens\D{{0,20}}[\d,]+ ?> ?{_N}", lambda found: _number(found[1])),
)
# What is left beside the request's own tokens: (context, input).
_SHARED: tuple[tuple[str, tuple[int, int]], ...] = (
    (rf"{_N} > {_N} - {_N}", (2, 3)),  # vLLM: asked > context - input
    (rf"{_N} \+ {_N} > {_N}", (3, 1)),  # Anthropic: input + asked > context
    (rf"must be <= {_N}\.? Given: {_N} .?inputs", (1, 2)),  # Together, TGI
)


@dataclass(frozen=True, slots=True)
class OutputLimit:
    """The largest answer. Where it is what a request's own `input` tokens left of the `context`, these are not 0;
    `of_account` where it is what is left on that."""

    tokens: int
    context: int = 0
    input: int = 0
    of_account: bool = False


def output_limit(message: str) -> OutputLimit | None:
    """The limit that an error names; None where the answer's part isn't at fault, or too little would be left of it."""
    if _OF_ANSWERS.search(message) is None and "afford" not in message:
        return None
    for pattern, (context, input) in _SHARED:
        if found := re.search(pattern, message, re.IGNORECASE):
            return _left(_number(found[context]), _number(found[input]))
    context, input = _CONTEXT.search(message), _INPUT.search(message)
    if context and input:
        return _left(_number(context[1]), _number(input[1] or input[2]))
    if re.search(r"context (length|window|limit)", message, re.IGNORECASE) and "`context_window`" not in message:
        return None
    for pattern, number in _LARGEST:
        if (found := re.search(pattern, message, re.IGNORECASE)) and number(found) > 0:
            return OutputLimit(number(found), of_account="afford" in pattern)
    return None


def _left(context: int, input: int) -> OutputLimit | None:
    return OutputLimit(context - input, context, input) if context - input >= LEAST_ROOM else None
