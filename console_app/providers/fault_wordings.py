"""How endpoints word the errors that have no code of their own: overflow, tools refused, quota spent, overload.

Seen in answers of OpenAI, Anthropic, Gemini, xAI, Groq, Mistral, OpenRouter, Bedrock proxies, vLLM, llama.cpp, Ollama
and LM Studio.
"""

from __future__ import annotations

import re

_OVERFLOW = re.compile(
    r"maximum context length|context[ _]length[ _]exceeded|prompt is too long|context window|context size"
    r"|exceeds? (the|its) (available |model'?s )?(maximum )?context|exceed_context_size|maximum prompt length"
    r"|input is too long|exceed context limit|input token count .*exceeds|number of input tokens|request_too_large"
    r"|reduce the length of the (messages|prompt|input)|too many (input |prompt )?tokens"
    r"|longer than the model'?s context|max(imum)? (input|prompt) tokens|trying to keep the first \d+ tokens",
    re.IGNORECASE,
)
_NO_TOOLS = re.compile(
    r"(does not|doesn't|do not|not) (currently )?support(ed)? (the )?(for )?(tool|function)|support tool use"
    r"|(tools?|function)([ _-]?(use|calls?|calling))? (is|are|param\w*) (is |are )?not "
    r"(supported|enabled|allowed|available)|tool[ _]choice requires --enable-auto-tool-choice|requires --jinja"
    r"|(unrecognized|unknown|unsupported|extra|unexpected)[^.]{0,60}['\"` :]tools\b"
    r"|tools['\"`:]* (is |are )?(extra|not permitted)",
    re.IGNORECASE,
)
_SPENT = re.compile(
    r"insufficient[_ ](quota|balance|credits?|funds)|credit balance is too low|exceeded your current quota"
    r"|spend_limit_reached|billing_hard_limit|payment required",
    re.IGNORECASE,
)
_OVERLOAD = re.compile(
    r"overloaded|rate[_ ]limit|server[_ ]error|api_error|internal|timeout|timed out|unavailable|try again|capacity"
    r"|too many requests|bad gateway",
    re.IGNORECASE,
)


def is_overflow(message: str, code: str) -> bool:
    """Whether the request is larger than the model's context window."""
    return _OVERFLOW.search(message) is not None or _OVERFLOW.search(code) is not None


def refuses_tools(message: str) -> bool:
    """Whether the endpoint or model takes no tools at all."""
    return _NO_TOOLS.search(message) is not None


def is_spent(message: str, code: str) -> bool:
    """Whether money or quota has run out: waiting seconds doesn't help."""
    return _SPENT.search(message) is not None or _SPENT.search(code) is not None


def is_overload(message: str, code: str) -> bool:
    """Whether an error without a status is one that may pass by itself."""
    return _OVERLOAD.search(f"{code} {message}") is not None
