"""Tells errors that have no code of their own by their words: overflow, tools refused, quota spent, overload, and which
part of an older answer is no longer taken.

Seen in answers of OpenAI, Anthropic, Gemini, xAI, Groq, Mistral, DeepSeek, Qwen, Kimi, Cohere, Together, OpenRouter,
Bedrock proxies, vLLM, SGLang, llama.cpp, Ollama and LM Studio.
"""

from __future__ import annotations

import re
from enum import Enum, auto

from console_app.textcalls import lazily

_OVERFLOW = lazily(
    r"maximum context length|context[ _]length[ _]exceeded|prompt is too long|context window|context size"
    r"|exceeds? (the|its) (available |model'?s )?(maximum )?context|exceed_context_size|maximum prompt length"
    r"|input is too long|exceed context limit|input token count .*exceeds|number of input tokens|request_too_large"
    r"|reduce the length of the (messages|prompt|input)|too many (input |prompt )?tokens"
    r"|longer than the model'?s context|max(imum)? (input|prompt) tokens|trying to keep the first \d+ tokens"
    r"|exceed(s|ed)? (the )?(model('s)? |max(imum)? )*(token limit|context|number of tokens allowed|input length)"
    r"|(prompt|input)( is| too)* (too )?(long|large)[;:,. ]|prompt exceeds max|too large for model with"
    r"|range of input length|inputs['\"`]? (tokens \+|must have less than)|reduce your message size"
    r"|tokens to keep from the initial prompt|(prompt|input) length (exceeds|is greater)|string_above_max_length",
    re.IGNORECASE,
)
_RATE = lazily(r"per (minute|day|hour|second)|rate limit", re.IGNORECASE)
NO_TOOLS = lazily(  # the endpoint or model takes no tools at all
    r"(does not|doesn't|do not|not) (currently )?support(ed)? (the )?(for )?(tool|function)|support tool use"
    r"|(tools?|function)([ _-]?(use|calls?|calling))? (is|are|param\w*) (is |are )?not "
    r"(supported|enabled|allowed|available)|tool[ _]choice requires --enable-auto-tool-choice|requires --jinja"
    r"|(unrecognized|unknown|unsupported|extra|unexpected)[^.]{0,60}['\"` :]tools\b(?![.\[]\W?\d)"
    r"|tools['\"`:]* (is |are )?(extra|not permitted)"
    # Results of calls: the messages whose role is "tool".
    r"|invalid value: ['\"`]tool['\"`]|(unsupported|unexpected|unknown|invalid) (message )?role:? ?\W?tool\b"
    r"|unknown variant ['\"`]tool['\"`]"
    r"|\brole:? ?['\"`]?tool['\"`]? (is |are )?(not |un|in)(supported|allowed|valid|known)"
    r"|only user(,| and) (and )?assistant roles are supported",
    re.IGNORECASE,
)
MANY_TOOLS = lazily(  # the request offers more of them than the endpoint takes
    r"\btools['\"`]?: array too long|too many (tools|functions)|(maximum|limit|most)[^.]{0,30}\b(tools|functions)\b"
    r"|\b(tools|functions)\b[^.]{0,40}(maximum|at most|no more than|exceed|limit)",
    re.IGNORECASE,
)
SPENT = lazily(  # money or quota has run out: waiting seconds doesn't help
    r"insufficient[_ ](quota|balance|credits?|funds)|credit balance is too low|exceeded your current quota"
    r"|spend_limit_reached|billing_hard_limit|payment required",
    re.IGNORECASE,
)
OVERLOAD = lazily(  # an error without a status that may pass by itself
    r"overloaded|rate[_ ]limit|server[_ ]error|api_error|internal|timeout|timed out|unavailable|try again|capacity"
    r"|too many requests|bad gateway",
    re.IGNORECASE,
)


def is_overflow(message: str, code: str) -> bool:
    """Tell whether the request is larger than the model's context window."""
    if _RATE.search(message) and "reduce your message size" not in message:
        return False
    return _OVERFLOW.search(message) is not None or _OVERFLOW.search(code) is not None


class Refused(Enum):
    """A part of the history or of the tools that a request was refused for."""

    SIGNATURE = auto()  # of a call, missing or not its own (Gemini)
    REASONING = auto()
    ID = auto()  # of a call
    BLANK = auto()  # content that is null, of an answer of nothing but calls
    ITEMS = auto()  # of lists in the tools' schemas, where they are not said (OpenAI, Gemini)
    NAMES = auto()  # of parameters (Claude)
    KEYWORD = auto()  # of the tools' schemas
    SYSTEM = auto()  # a message of the system (Gemma's template, o1-mini)
    UNTHOUGHT = auto()  # older answers without their reasoning (DeepSeek, Kimi)
    ORDER = auto()  # of the messages' roles (Mistral, chat templates)
    STREAM = auto()


_PARTS: dict[Refused, re.Pattern[str]] = {
    Refused.UNTHOUGHT: lazily(
        r"(missing|requires?|lacks?) .{0,12}reasoning_content"
        r"|reasoning_content\b.{0,60}(missing|is required|must be (passed|sent|provided|included|returned))",
        re.IGNORECASE,
    ),
    Refused.ORDER: lazily(
        r"unexpected role .{1,12} after role|roles? must alternate|invalid_request_message_order", re.IGNORECASE
    ),
    Refused.STREAM: lazily(
        r"\bstream(ing|ed)?\b(?!\W{0,3}options).{0,40}(not|n't|un) ?(yet |currently )?"
        r"(support|allowed|enabled|available|permitted)"
        r"|(cannot|can't|can not|(do|does|is|are)( not|n't)|not (yet )?support) (support |use )?"
        r"[\w ]{0,30}\bstream(ing)?\b(?!\W{0,3}options)"
        r"|unsupported[^.]{0,30}['\"`]stream['\"`]|must be verified to stream",
        re.IGNORECASE,
    ),
    Refused.SYSTEM: lazily(
        r"(system|developer)[ _]?(role|messages?|prompts?|instructions?) (is |are )?not (supported|enabled|allowed)"
        r"|(not|n't) support .{0,12}system['\"`]?( (role|messages?|prompts?|instructions?)| with|$)"
        r"|role.{0,6}['\"`]system['\"`] (is )?not (supported|allowed)|only user and assistant roles are supported",
        re.IGNORECASE,
    ),
    Refused.SIGNATURE: lazily(
        r"(missing|corrupted|invalid|no|lacks?) (an? )?.?thought.?signature"
        r"|thought.?signature.{0,20} (is )?(missing|required|not valid|invalid|corrupt)",
        re.IGNORECASE,
    ),
    Refused.REASONING: lazily(
        r"invalid.{0,12}signature.{0,30}(thinking|reasoning)"
        r"|signature.{0,60}(thinking|reasoning).{0,60}(invalid|verif|match)"
        r"|(thinking|reasoning).{0,60}signature.{0,60}(invalid|verif|match|required)"
        r"|invalid_encrypted_content|encrypted content.{0,200}(could not|cannot|can't|not) be"
        r"|item.{0,80}(rs|msg|fc)_.{0,120}(not found|without its required)|items? (with id )?.{0,80} not found"
        r"|(thinking|redacted_thinking).{0,80}(cannot|can't|must not) be modified"
        r"|without its required (following|preceding|reasoning)",
        re.IGNORECASE | re.DOTALL,
    ),
    Refused.ID: lazily(
        r"(tool.?call.?id|tool_use_id|tool_use\.id|call_id|tool_calls\W*\d+\W*id|\binput\W*\d+\W*id)\b"
        r".{0,160}(must be a-z|too long|maximum length|length of|pattern|invalid|begins with|alphanum)"
        r"|invalid.{0,40}(tool.?call.?id|tool_use_id|call_id|tool_calls\W*\d+\W*id)\b(?!.{0,80}not found)",
        re.IGNORECASE | re.DOTALL,
    ),
    Refused.BLANK: lazily(
        r"content\b.{0,80}(valid string|must be (a )?string|none is not|(not|cannot) be (null|none|empty)"
        r"|received null|null, expected|null is not|str type expected)|invalid type: null, expected a string",
        re.IGNORECASE | re.DOTALL,
    ),
    Refused.ITEMS: lazily(
        r"(missing|must have|requires?|lacks?) .{0,3}items\b|\bitems\W{0,4}(missing|field required)", re.IGNORECASE
    ),
    Refused.NAMES: lazily(r"propert(y|ies) (keys?|names?)\b.{0,40}(match|pattern)", re.IGNORECASE),
    Refused.KEYWORD: lazily(r"schema|tools?\W*\d|function_declarations|parameters|input_schema", re.IGNORECASE),
}
_DESCRIPTION = lazily(r"\b(tools?|functions?|function_?declarations)\b.{0,40}\bdescription", re.IGNORECASE)
_TOO_LONG = lazily(r"too long|at most|max(imum)?[ _](length|of)|exceed|above_max|longer than", re.IGNORECASE)
_AT_MOST = lazily(r"(?:max(?:imum)?[ _](?:length|of)|at most|exceeds?|longer than)\D{0,30}(\d{2,6})", re.IGNORECASE)
_USUAL_DESCRIPTION = 1024  # characters: OpenAI's
# The model wrote a call that its own endpoint could not read: it may do better when told.
FAILED_CALL = lazily(r"tool_use_failed|failed to call a function|malformed.?function.?call", re.IGNORECASE)
_ALLOWED = lazily(
    r"(?:supported (?:values|levels|efforts) are|(?:must|should|has to) be (?:one of|either)|one of|allowed values)"
    r":? *([^.]{1,200})",
    re.IGNORECASE,
)


def longest_description(words: str) -> int | None:
    """Tell how long a tool's description may be, where one was refused for its length; None where none was."""
    if not _DESCRIPTION.search(words) or not _TOO_LONG.search(words):
        return None
    found = _AT_MOST.search(words)
    return int(found[1]) if found is not None else _USUAL_DESCRIPTION


def refused_part(words: str) -> Refused | None:
    """Return what a request was refused for, by the endpoint's words; None when it is none of these."""
    return next((part for part, wording in _PARTS.items() if wording.search(words)), None)


def allowed_values(message: str) -> list[str]:
    """Return what a refusal of a value says is possible: its quoted words."""
    found = _ALLOWED.search(message)
    return re.findall(r"['\"`]([\w.-]{1,30})['\"`]", found[1]) if found else []
