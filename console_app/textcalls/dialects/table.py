"""The table of dialects: a row a body, and the families that write each body in a coat of their own."""

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from console_app.textcalls.bodies.json_body import JsonBody
from console_app.textcalls.bodies.named_body import BracketBody, NamedBody
from console_app.textcalls.bodies.python_body import PythonBody
from console_app.textcalls.bodies.tag_body import TagBody
from console_app.textcalls.dialects.coats import (
    BEGIN,
    CLOSE,
    CLOSE_TAG,
    MARK,
    OPEN_TAG,
    OTHER_OPENS,
    SPECIAL,
    P,
    S,
)
from console_app.textcalls.dialects.form import CALL, Dialect, Family, Form
from console_app.textcalls.patterns import ACTION, ACTION_INPUT, IDENT, any_of, label, tag

_NAME = r"(?:[\w.\-]+/)?\w[\w.\-]*"
_SEP = r"<\|sep\|>"
_M3 = "]<]minimax[>["
_M3_RE = r"\]<\]minimax\[>\["
_AROUND = "(?:args|arguments|parameters|params|input)"
_KEY = (
    rf"<(?:{P}arg_key{S}|\|tool_arg:start\|)>(?P<key>[^<]+)(?:</{P}arg_key{S}>\s*"
    rf"(?:<{P}arg_type{S}>(?P<type>[^<]*)</{P}arg_type{S}>\s*)?<{P}arg_value{S}>|<\|tool_arg:value\|>)"
)
_ARGUMENT = r"<(?:(?:parameter|param|argument|arg)\s+name\s*=\s*[\"'])?(?P<key>[\w.-]+)[\"']?>"
_ARGUMENT_END = r"</(?:parameter|param|argument|arg|KEY)>"
_FUNCTION = (
    rf"<{P}(?:function\s*=\s*(?=[^<>\n]+>)|(?:invoke|function)\s*(?:\s[^<>]*?)?name\s*=\s*)"
    r"[\"']?(?P<name>[^\"'<>=/]+)[\"']?[^<>]*>"
)
_QWEN = "<parameter=$key>\n$value\n</parameter>\n"
_GLM = "<arg_key>$key</arg_key>\n<arg_value>$value</arg_value>\n"

DIALECTS: tuple[Dialect, ...] = (
    Dialect(
        "hermes_json",
        "Qwen 2, 2.5 and 3, QwQ, Hermes 2 to 4, Granite 4, Ernie 4.5, many fine-tunes",
        JsonBody(),
        Form("<tool_call>\n" + CALL + "\n</tool_call>"),
        coated=True,
    ),
    Dialect(
        "inkling",
        "Inkling",
        JsonBody(lead_in=rf"\s*(?:{IDENT}\s*)?<\|content_invoke_tool_json\|>"),
        Form(
            '<|message_model|>$name<|content_invoke_tool_json|>{"name": "$name", "args": $arguments}<|end_message|>',
            between="",
        ),
        coated=True,
    ),
    Dialect(
        "qwen3_coder_xml",
        "Qwen3-Coder, Qwen3.5, MiMo, Nemotron 3 Nano, Step-3.5, Nanbeige",
        TagBody(
            call=rf"(?:function\s*{SPECIAL}\s*)?{_FUNCTION}",
            inner=_FUNCTION,
            param=(
                rf"<{P}(?:param(?:eter)?\s*=\s*(?=[^<>\n]+>)|param(?:eter)?\s*(?:\s[^<>]*?)?name\s*=\s*(?=[\"']))"
                r"(?:(?=[^<>]*\sstring\s*=\s*[\"'](?P<string>true|false))|)[\"']?(?P<key>[^\"'<>]+)[\"']?[^<>]*>"
            ),
            param_end=rf"</{P}param(?:eter)?{S}>",
            call_end=rf"</{P}(?:invoke|function){S}>",
            json=True,
            exact=None,
        ),
        Form("<tool_call>\n<function=$name>\n$arguments</function>\n</tool_call>", values="raw", param=_QWEN),
        coated=True,
    ),
    Dialect(
        "hermes_xml",
        "fine-tunes that write name and arguments as tags, prompts of Claude 2's style and of Cline for servers",
        TagBody(
            call=(
                r"(?:<invoke>\s*|<use_mcp_tool>\s*(?:<server_name>\s*(?P<server>[^<>]*?)\s*</server_name>\s*)?)?"
                r"<(?:tool_)?name>\s*(?P<name>[^<>]+?)\s*</(?:tool_)?name>"
            ),
            inner=rf"(?:{OPEN_TAG}|<invoke>)\s*<(?:tool_)?name>",
            call_end=rf"(?:</{_AROUND}>\s*)?(?:</invoke>|</use_mcp_tool>|{CLOSE_TAG})",
            json=True,
            wrapper=rf"<{_AROUND}>",
            param=_ARGUMENT,
            param_end=_ARGUMENT_END,
        ),
        Form("<tool_call>\n<name>$name</name>\n<arguments>$arguments</arguments>\n</tool_call>"),
        coated=True,
    ),
    Dialect(
        "named_tag",
        "fine-tunes that name the tool in the tag of the call",
        TagBody(
            call=rf"<{P}(?:tool|function)_call\s[^<>]*?name\s*=\s*[\"']?(?P<name>[^\"'<>=/]+)[\"']?[^<>]*>",
            call_end=rf"(?:</{_AROUND}>\s*)?</{P}(?:tool|function)_call{S}>",
            empty=r"<[^>]*/>",
            json=True,
            wrapper=rf"<{_AROUND}>",
            param=_ARGUMENT,
            param_end=_ARGUMENT_END,
        ),
        Form('<tool_call name="$name">\n$arguments\n</tool_call>'),
        coated=True,
    ),
    Dialect(
        "glm45",
        "GLM 4.5 to 5, Poolside Laguna, Spark 3, Ling 3",
        TagBody(
            call=rf"(?P<name>{_NAME})\s*(?:\\n\s*)?(?:<{P}tool_sep{S}>)?\s*"
            rf"(?=<{P}arg_key{S}>|<\|tool_arg:start\|>|{CLOSE})",
            inner=rf"{OPEN_TAG}\s*{_NAME}",
            param=_KEY,
            param_end=rf"(?:</{P}arg_value{S}>|<\|tool_arg:end\|>)",
            call_end=CLOSE_TAG,
            exact=True,
        ),
        Form("<tool_call>$name\n$arguments</tool_call>", values="raw", param=_GLM, keeps=True),
        coated=True,
    ),
    Dialect(
        "gemma4",
        "Gemma 4",
        BracketBody(('<|"|>', "<escape>")),
        Form("<|tool_call>call:$name{$arguments}<tool_call|>", between="", values="quoted", quote='<|"|>'),
        coated=True,
    ),
    Dialect(
        "hermes_named",
        "fine-tunes that put the name before the object, GLM 5.3 Flash, Step-Audio 2",
        NamedBody(
            rf"\s*(?:(?:\w[\w.:-]*\s*)?{SPECIAL}\s*|function\s*\n\s*)?(?P<name>{_NAME}(?::\d+)?)\s*"
            rf"(?:(?:>|\\n|\[CALL_ID\]\s*[\w-]*|\[ARGS\]|{SPECIAL})\s*){{0,4}}(?:```\w*\s*)?(?=[\{{\"]|(?:```\s*)?{CLOSE})",
            bare_names=True,
        ),
        Form("<tool_call>$name\n$arguments\n</tool_call>"),
        coated=True,
    ),
    Dialect(
        "hermes_python",
        "fine-tunes that write the call as code",
        PythonBody(),
        Form("<tool_call>$name($arguments)</tool_call>", values="python"),
        coated=True,
    ),
    Dialect(
        "minimax_m3",
        "MiniMax-M3",
        TagBody(
            call=tag(_M3_RE + "<invoke", "name", "name"),
            param=_M3_RE + r"<(?P<key>[\w.-]+)>",
            param_end=_M3_RE + r"</KEY>",
            call_end=_M3_RE + r"</invoke>",
            exact=True,
            lead="]",
            nested=_M3,
        ),
        Form(
            f'{_M3}<invoke name="$name">$arguments{_M3}</invoke>',
            f"{_M3}<tool_call>\n$calls\n{_M3}</tool_call>",
            values="raw",
            param=f"{_M3}<$key>$value{_M3}</$key>",
            keeps=True,
        ),
        coated=True,
        opens=(_M3 + "<tool_call>",),
        closes=rf"{_M3_RE}</tool_call>",
    ),
    Dialect(
        "kimi_k3_xtml",
        "Kimi K3",
        TagBody(
            call=tag(r"<\|open\|>call", "tool", "name", _SEP),
            param=tag(r"<\|open\|>argument", "key", "key", _SEP, type=r"\w+"),
            param_end=r"<\|close\|>argument<\|sep\|>",
            call_end=r"(?:<\|close\|>json<\|sep\|>)?<\|close\|>call<\|sep\|>",
            wrapper=r"<\|open\|>json[^<]*<\|sep\|>",
            json=True,
        ),
        Form(
            '<|open|>call tool="$name" index="$number"<|sep|>$arguments<|close|>call<|sep|>',
            "<|open|>tools<|sep|>$calls<|close|>tools<|sep|>",
            "",
            values="exact",
            param='<|open|>argument key="$key" type="$type"<|sep|>$value<|close|>argument<|sep|>',
        ),
        coated=True,
        opens=("<|open|>tools<|sep|>",),
        closes=r"<\|close\|>tools<\|sep\|>",
    ),
    Dialect(
        "cwm",
        "CWM",
        NamedBody(rf"<tool:\s*[\w.-]{{1,40}}\s*>\s*(?P<name>{IDENT})(?=\s)", required_close=False, until=r"\s*</tool>"),
        Form("<tool: function>\n$name $arguments\n</tool>"),
        coated=True,
    ),
    Dialect(
        "harmony",
        "GPT-OSS",
        NamedBody(
            r"(?:<\|start\|>\s*assistant)?(?:<\|channel\|>\s*(?!analysis(?!\s+to=functions\.))\w+)?"
            r"\s*to=(?!(?:assistant|user|self|commentary|all|developer)\b)(?P<name>[^\s<]++)\s*+(?:<\|channel\|>)?+[^<]*+"
            r"(?:<\|constrain\|>[^<]*+)?+<\|message\|>(?=\s*(?:[^\s<]|<\|))",
            bare_names=True,
        ),
        Form(
            "<|channel|>commentary to=functions.$name <|constrain|>json<|message|>$arguments<|call|>",
            between="<|start|>assistant",
        ),
        begins=("<|channel|>", "<|start|>", "to=functions."),
        closes=r"<\|(?:call|end|return)\|>",
    ),
    Dialect(
        "roo_xml",
        "any model prompted by Roo, Kilo or Cline, and by prompts that copy them",
        TagBody(
            call=r"<(?P<name>NAMES)\s*/?>",
            wrapper="<args>",
            param=(
                r"<(?=(?:KEYS)>|(?P<other>[\w.-]+)>[^<]{0,300}</(?P=other)>\s*"
                r"(?:<[\w.-]+>[^<]{0,100}</[\w.-]+>\s*){0,4}(?:</args>\s*)?(?:</NAME>|<(?:KEYS)>))(?P<key>[\w.-]+)>"
            ),
            param_end=r"</KEY>",
            call_end=r"(?:</args>\s*)?</NAME>",
            trim=True,
            empty=r"<[^>]*/>",
        ),
        Form("<$name>\n$arguments</$name>", between="\n\n", values="raw", param="<$key>$value</$key>\n", trims=True),
    ),
    Dialect(
        "react",
        "ReAct and LangChain prompts, Qwen 1",
        NamedBody(
            rf"{ACTION}[ \t]*`?(?P<name>{IDENT})`?[ \t]*\r?\n\s*{ACTION_INPUT}(?=\s*\S)",
            until=rf"\n\s*{label('Observation', 'Thought', 'Action', 'Final Answer')}",
            required_close=False,
        ),
        Form("Action: $name\nAction Input: $arguments"),
    ),
    Dialect("smol_action", "smolagents", JsonBody(), Form("Action:\n" + CALL), closes="<end_(?:action|code)>"),
    Dialect(
        "functionary_v32",
        "Functionary v3.2",
        NamedBody(r"(?:>>>)?(?P<name>NAMES)[ \t]*\r?\n(?=\s*\S)", until=r"\n>>>", required_close=False),
        Form(">>>$name\n$arguments"),
    ),
    Dialect(
        "pythonic_list",
        "Llama 3.2 and 4, ToolACE, xLAM, prompts of the Berkeley leaderboard",
        PythonBody(listed=True),
        Form("$name($arguments)", "[$calls]", ", ", values="python"),
    ),
    Dialect(
        "fenced_json",
        "Qwen2.5-Coder, Gemma, Phi",
        JsonBody(),
        Form("```json\n" + CALL + "\n```", between="\n\n"),
    ),
    Dialect("bare_json_lines", "any small model prompted with a schema", JsonBody(), Form(CALL)),
)

ROWS: dict[str, Dialect] = {row.name: row for row in DIALECTS}
COATED: tuple[Dialect, ...] = tuple(row for row in DIALECTS if row.coated)


def _written_in_coats() -> Iterator[Family]:
    """The families that write a row's calls in a coat of their own, from the file beside this one."""
    for line in Path(__file__).with_name("families.jsonl").read_text(encoding="utf-8").splitlines():
        form = json.loads(line)
        name, row, models = form.pop("name"), ROWS[form.pop("row")], form.pop("models")
        yield Family(name, row, models, Form(**form))


FAMILIES: dict[str, Family] = {
    **{row.name: Family(row.name, row, row.models, row.form) for row in DIALECTS},
    **{family.name: family for family in _written_in_coats()},
}
"""All ways to write calls, by name."""


@cache
def _by_mark() -> dict[tuple[str, str], str]:
    """The families by their rows and by the markers with which what they write begins."""
    known: dict[tuple[str, str], str] = {}
    mark = re.compile(rf"{MARK}|{BEGIN}|{any_of(OTHER_OPENS)}")
    for family in FAMILIES.values():
        for text in (family.form.around.partition("$")[0], family.form.call.replace("$name", "x")):
            if found := mark.match(text.strip()):
                known.setdefault((family.row.name, found.group()), family.name)
    return known


def family_of(row: Dialect, *marks: str) -> str:
    """Return the name of the family whose calls one of the marks opens, or of the row where none is known by it."""
    known = _by_mark()
    return next((name for mark in marks if (name := known.get((row.name, mark)))), row.name)
