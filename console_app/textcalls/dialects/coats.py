"""The marker of a call in any coat: a core word that all vendors share, in whatever prefix, bars, blanks and suffix.

`<tool_call>`, `<seed:tool_call>`, `<｜tool▁call▁begin｜>`, `<｜DSML｜ calls>` and `[TOOL_CALLS]` are one marker. The
next decoration of it needs no change here. Behind the markers stand the tokens around answers that are no part of them.
"""

from functools import lru_cache

from console_app.textcalls.patterns import any_of, lazily, partly

_PART = r"[^\s<>\"'={}()\[\]\\`]"
_SIGN = r"[^\w\s<>\"'={}()\[\]\\`]"
P = rf"(?![|｜]{{0,2}}/)(?:{_PART}{{0,30}}?(?:{_SIGN}|_))??[ ]?+"
"""A pattern of the signs between the bracket of a tag and its core word: a prefix that a sign ends, a blank."""
S = rf"[ ]?(?:(?:{_SIGN}|_){_PART}{{0,30}})?"
_WORD = r"(?:(?i:(?:tool|function)[ _▁-](?:call|request)s?|(?<=[:|｜ ])calls)|TOOLCALLS?)"
_BRACKETED = r"(?:TOOL|FUNCTION|tool|function)_(?:CALL|call)[Ss]?"


def _tag(inner: str) -> str:
    """A pattern for a tag in the brackets that vendors use, which may be doubled."""
    return rf"(?:<(?:<{inner}>>|{inner}>)|◁{inner}▷|⟨{inner}⟩)"


MARK = _tag(rf"(?:[|｜]{{0,2}}/)?{P}{_WORD}{S}") + rf"|\[/?{_BRACKETED}\]"
"""A marker: what opens a call or a section of them, or what ends it (`is_end`)."""
_END_WORD = r"(?i:(?<![A-Za-z])end(?![A-Za-z]))"
_INNER = lazily(r"(?i)(?:tool|function)[ _▁-]?(?:call|request)s?[^>▷⟩]*(?:arg|name|sep|param|result|response|output)")

OTHER_OPENS = (
    "[unused11]", "<|action_start|><|plugin|>", "<|action_start|>", "<|START_ACTION|>", "<|python_tag|>",
    "<|python_start|>", "<|tools_prefix|>", "<|message_model|>", "function call<|role_sep|>", "functools",
    "<tools>", "<tool>",
)  # fmt: skip
OTHER_CLOSES = (
    "[unused12]", "<|action_end|>", "<|END_ACTION|>", "<|eom_id|>", "<|eot_id|>", "<|python_end|>", "<|tools_suffix|>",
    "<|end_message|>", "</tools>", "</tool>", "<|plamo:end_tool_arguments:plamo|>",
)  # fmt: skip
"""Marks that end the calls which the other marks open."""
PLAIN_OPENS = frozenset({"<tools>", "<tool>", "<function_call>", "functools"})
"""Opening marks that people and programs also write without meaning a call."""
UNPAIRED = frozenset(
    {"[TOOL_CALLS]", "<|tool_call|>", "<|function_call|>", "function call<|role_sep|>", "functools", "<function_call>"}
)
"""Markers whose calls have no end of their own."""

OPEN_TAG = rf"<{P}{_WORD}{S}>"
CLOSE_TAG = rf"<(?:(?:[|｜]{{0,2}}/|(?=[^<>\n]*+>)(?=[^<>\n]*{_END_WORD})){P}{_WORD}{S}|{_WORD}[|｜])>"
OPEN = rf"(?:{_tag(P + _WORD + S)}|\[{_BRACKETED}\]|{any_of(OTHER_OPENS)})"
_ENDS = rf"(?:[|｜]{{0,2}}/|(?=[^<>▷⟩\n]*{_END_WORD})){P}{_WORD}{S}"
CLOSE = rf"(?:{_tag(_ENDS)}|<{_WORD}[|｜]>|\[/{_BRACKETED}\]|{any_of(OTHER_CLOSES)})"
HALF = (
    r"(?:<\|close\|>\w{0,8}(?:<[|\w]{0,6})?|<<[^<>\n]{0,70}>|[<◁⟨]{1,2}[^<>▷⟩\n]{0,70}|\[/?[A-Za-z_]{0,15}|\[unused\d*"
    r"|\](?:<(?:\](?:\w*(?:\[(?:>(?:\[(?:<[^<>\n]*)?)?)?)?)?)?)?)"
)
HALF_TAG = lazily(
    rf"<(?!=| \w\W)(?:{_PART}*+\s*+/?(?:>|\Z)|{_PART}{{0,62}}? ?(?i:tool|func|invoke|param|arg|call|\w{{0,7}}\Z))"
)
"""A pattern of what may become the tag of a call or a parameter: a core word is near, or only a name stands there."""
HALF_MARK = rf"<<[^<>\s]{{0,60}}>|[<◁⟨]{{1,2}}{_PART}{{0,60}}(?:[ ]{_PART}{{0,40}})?|\[/?[A-Za-z_]{{0,15}}"
SPECIAL = rf"(?!{CLOSE})<[|｜][^<>|｜\n]{{1,48}}[|｜]>"
_NAMED = r"[^<>]{0,80}?name\s{0,8}="
BEGIN = (
    rf"<{P}(?:function\s{{0,8}}=(?=[^<>\n]{{0,130}}>)|(?:invoke\s|function\s{{0,8}}(?=name)){_NAMED}"
    rf"|(?:tool|function)_call\s{_NAMED}|invoke>)"
    r"|<use_mcp_tool>|<tool:\s{0,8}[\w.-]{1,40}\s{0,8}>|\]<\]minimax\[>\[<invoke|<\|open\|>call(?=\s)"
)
"""The tag with which calls between tags begin: it names the tool, or its elements do."""
HALF_BEGIN = (
    rf"<{P}(?:invoke|function|tool_call|function_call)[^<>]{{0,150}}|<tool:[^<>]{{0,60}}"
    rf"|{partly(('<|open|>call ', ']<]minimax[>[<invoke'))}"
)
_PLAIN_BEGIN = lazily(r"<function\s*(?:\s[^<>]*)?name\s*=")
_ENDING = lazily(rf"[<◁⟨]{{1,2}}[|｜]{{0,2}}/|\[/|[<◁⟨]{{1,2}}[^<>]*{_END_WORD}|<\w+[|｜]>")


@lru_cache(maxsize=256)
def is_end(mark: str) -> bool:
    """Tell whether a marker ends what another one opened."""
    return _ENDING.match(mark) is not None


@lru_cache(maxsize=256)
def is_inner(mark: str) -> bool:
    """Tell whether it only looks like a marker: it stands within a call, or around a result."""
    return _INNER.search(mark) is not None


@lru_cache(maxsize=256)
def is_marked(mark: str) -> bool:
    """Tell whether nobody writes this marker, or the beginning of this tag, by accident."""
    return mark not in PLAIN_OPENS and _PLAIN_BEGIN.match(mark) is None


_THINKING_TAGS = (
    "think", "thinking", "thought", "reasoning", "seed:think", "mm:think", "think:opensource", "ifm|think",
    "ifm|think_fast", "ifm|think_faster", "scratchpad", "analysis", "reflection",
)  # fmt: skip
THINKING = {f"<{name}>": f"</{name}>" for name in _THINKING_TAGS} | {
    "<|open|>think<|sep|>": "<|close|>think<|sep|>",
    "<|think|>": "<|end|>",
    "[THINK]": "[/THINK]",
    "<|START_THINKING|>": "<|END_THINKING|>",
    "<|channel>thought": "<channel|>",
    "<|inner_prefix|>": "<|inner_suffix|>",
    "◁think▷": "◁/think▷",
}

INNER = ("<|inner_prefix|>", "<|inner_suffix|>")
"""Reasoning in which calls may stand, between their own tokens."""

PLAIN_THINKING = frozenset({"<scratchpad>", "<analysis>", "<reflection>"})
"""Tags that other text has too: reasoning only at the start of a line, and where no tool has the name."""

FINAL = "[BEGIN FINAL RESPONSE]"

FABRICATED = (
    "<tool_response>", "<tool_response ", "<tool_result>", "<tool_results>", "<|tool_response>",
    "<function_result>", "<function_results>", "<function_response>", "<tool_output>", "<|observation|>",
    "<|user|>", "<｜User｜>", "<|im_start|>user", "<|im_start|>tool", "<|im_start|>system", "<|start_header_id|>user",
    "<|start_header_id|>tool", "<|start_header_id|>ipython", "<start_of_turn>user", "[TOOL_RESULTS]",
    "<|START_TOOL_RESULT|>", "<｜tool▁outputs▁begin｜>", "<|tool_outputs_begin|>", "<|start|>user",
    "<|start|>tool", "<|start|>system", "<|start|>developer", "<|start|>functions.",
)  # fmt: skip
"""Marks that only an endpoint or a person writes: from there on a model makes up the rest of the conversation."""

SILENT = (
    "<|START_RESPONSE|>", "<|START_TEXT|>", "<|im_start|>assistant", "<|START_OF_TURN_TOKEN|>", "<|CHATBOT_TOKEN|>",
    "<|start_header_id|>assistant<|end_header_id|>", "<start_of_turn>model", "<|turn>model", "<|message_user|>",
    "<|message_model|><|content_text|>", "<|content_text|>", "<|open|>response<|sep|>", "<|close|>response<|sep|>",
    "<|close|>message<|sep|>", '<|open|>message role="assistant"<|sep|>', "<|begin|>assistant", "<|content|>",
    "[END FINAL RESPONSE]", "<|begin_assistant|>", "<SPECIAL_11>Assistant", "]~b]ai",
    "<｜Assistant｜>", "<seed:bos>assistant", "<｜hy_Assistant｜>", "<｜hy_Assistant:opensource｜>",
)  # fmt: skip

CHAT_TOKENS = (
    "<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|eot|>", "<|eom|>", "<|end_of_text|>", "<|endoftext|>",
    "<|end|>", "<|return|>", "</s>", "<eos>", "<end_of_turn>", "<turn|>", "<｜end▁of▁sentence｜>",
    "<|end▁of▁sentence|>", "<|END_OF_TURN_TOKEN|>", "<|END_RESPONSE|>", "<|END_TEXT|>", "<|assistant_end|>",
    "<|role_end|>", "[e~[", "<seed:eos>", "<|message_sep|>", "<SPECIAL_12>", "<end_of_sentence>", "<sep>",
    "</assistant>", "<|end_of_msg|>", "<|calls|>", "<|flush|>", "<|eos|>", "<｜hy_eos｜>", "<｜hy_eos:opensource｜>",
)  # fmt: skip
"""Tokens by which models end a turn; left over where an endpoint does not strip them."""

MAY_BE_TEXT = frozenset({"</s>", "<eos>", "<turn|>", "<sep>", "</assistant>", "<end_of_sentence>", "[e~["})
"""These of them are dropped only where the text ends, since people write them too."""
