"""The table of dialects: a row a body; `families.jsonl` beside it has the families that write each body in a coat."""

import json
import re
from collections.abc import Sequence
from functools import cache, cached_property
from pathlib import Path
from string import Template
from typing import Any, Literal, TypeAlias

from console_app.domain import schema as json_schema
from console_app.records import dataclass
from console_app.textcalls.bodies.json_body import JsonBody, NamedBody
from console_app.textcalls.bodies.python_body import PythonBody
from console_app.textcalls.bodies.tag_body import TagBody
from console_app.textcalls.dialects import coats
from console_app.textcalls.dialects.coats import CLOSE, CLOSE_TAG, OPEN_TAG, SPECIAL, P, S
from console_app.textcalls.model import WrittenCall, is_list, is_object
from console_app.textcalls.patterns import ACTION, ACTION_INPUT, IDENT, any_of, label, lazily, tag
from console_app.textcalls.tool_schemas import ToolSchemas

_ENTITY = lazily(r"&(?:\w+|#\w+);")
_TAG_OPEN = lazily(r"<(?=[/|!\w])")
_MARKS = (
    "<tool_call", "</tool_call", "<function", "</function", "<param", "</param", "invoke", "arg_key>", "arg_value>",
    "<![CDATA[", "minimax[",
)  # fmt: skip
_PLAIN_KEY = lazily(r"[A-Za-z_][\w-]*")


@dataclass(frozen=True)
class Form:
    """Templates: `call` with $name, $arguments and $index, `around` with $calls, `param` with $key, $value, $type and
    $string. `values` is the encoding: json, json_text (JSON within a JSON string), raw, exact (raw, and told to be
    text), python or quoted (by `quote`). `cdata`: a raw value may be put in CDATA. `trims` and `keeps` are as `trim`
    and `exact` of the grammar."""

    call: str
    around: str = "$calls"
    between: str = "\n"
    values: Literal["json", "json_text", "raw", "exact", "python", "quoted"] = "json"
    param: str = ""
    quote: str = ""
    trims: bool = False
    keeps: bool = False
    cdata: bool = True

    def write(self, calls: Sequence[WrittenCall], tools: ToolSchemas) -> str:
        written = [
            Template(self.call).substitute(
                name=json.dumps(call.name)[1:-1] if self.values.startswith("json") else call.name,
                arguments=self._arguments(call, tools),
                index=str(index),
                number=str(index + 1),
            )
            for index, call in enumerate(calls)
        ]
        return Template(self.around).substitute(calls=self.between.join(written))

    def _arguments(self, call: WrittenCall, tools: ToolSchemas) -> str:
        arguments = dict(call.arguments)
        if self.values == "json":
            return _json(arguments)
        if self.values == "json_text":
            return _json(_json(arguments))
        if self.values == "python":
            return ", ".join(f"{key}={_python(value)}" for key, value in arguments.items())
        if self.values == "quoted":
            return ",".join(f"{self._key(key)}:{self._quoted(value)}" for key, value in arguments.items())
        written: list[str] = []
        for key, value in arguments.items():
            string, kind = isinstance(value, str), json_schema.type_of(value).replace("integer", "number")
            # in JSON between tags no tag and no entity begins: within its strings `<` and `&` have an escape
            text = _ENTITY.sub(lambda one: "\\u0026" + one[0][1:], _TAG_OPEN.sub(r"\\u003c", _json(value)))
            if isinstance(value, str):
                text = self._raw(call.name, value, tools.types(call.name, key)) if self.values == "raw" else value
            filled = {"key": key, "value": text, "type": kind, "string": str(string).lower()}
            written.append(Template(self.param).substitute(filled))
        return "".join(written)

    def _raw(self, name: str, value: str, types: frozenset[str]) -> str:
        """Return a text as it must stand between tags to come back the same."""
        marks = any(mark in value for mark in _MARKS)
        spaced = self.trims and "\n" not in value.strip() and value.strip() != value
        tagged = self.trims and "<" in value and re.search(r"</?[\w.-]+\s*/?>", value) is not None
        literal = "null" in types and value.strip() in ("null", "None")
        escaped = self.trims and _ENTITY.search(value)
        if self.cdata and "]]>" not in value and (marks or spaced or tagged or literal or escaped):
            return f"<![CDATA[{value}]]>"
        if self.keeps or "$value\n" in self.param or not value.startswith("\n"):
            return value
        return f"\n{value}\n" if value.endswith("\n") else f"\n{value}"

    def _key(self, key: str) -> str:
        return key if _PLAIN_KEY.fullmatch(key) else f"{self.quote}{key}{self.quote}"

    def _quoted(self, value: Any) -> str:
        if isinstance(value, str):
            return f"{self.quote}{value}{self.quote}"
        if is_object(value):
            return "{" + ",".join(f"{self._key(key)}:{self._quoted(item)}" for key, item in value.items()) + "}"
        if is_list(value):
            return "[" + ",".join(map(self._quoted, value)) + "]"
        return _json(value)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _python(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return repr(value)
    if is_object(value):
        return "{" + ", ".join(f"{_json(key)}: {_python(item)}" for key, item in value.items()) + "}"
    if is_list(value):
        return "[" + ", ".join(map(_python, value)) + "]"
    return _json(value)


Body: TypeAlias = JsonBody | NamedBody | TagBody | PythonBody


@dataclass(frozen=True)
class Dialect:
    """A row of the table: it stands for all families whose calls have the same body.

    `coated`: a marker in any coat stands before the body, or the body begins with a tag in any coat. `opens` are tokens
    before the body that are no such marker, `begins` those with which the body itself begins, `closes` patterns of what
    ends it beside a closing marker. A row with none of these has no marker: names and shapes tell its calls."""

    name: str
    body: Body
    coated: bool = False
    opens: tuple[str, ...] = ()
    begins: tuple[str, ...] = ()
    closes: str = ""

    @property
    def marked(self) -> bool:
        """Tell whether nobody writes by accident how its calls open."""
        return self.coated or bool(self.opens or self.begins)


@dataclass(frozen=True)
class Family:
    """A family of models, whose calls `row` reads and `form` writes."""

    name: str
    row: Dialect
    models: str
    form: Form

    @cached_property
    def opening(self) -> str:
        return self.form.around.replace("$calls", self.form.call).strip()

    @cached_property
    def marked(self) -> bool:
        return self.row.marked and not self.opening.startswith((*coats.PLAIN_OPENS, "<function name"))


_NAME = r"(?:[\w.\-]++/)?\w[\w.\-]*+"
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
_PARAM = (
    rf"<{P}(?:param(?:eter)?\s*=\s*+(?=[^<>\n]+>)|param(?:eter)?(?:\s[^<>]*?)?name\s*=\s*+(?=[\"']))"
    r"(?:(?=[^<>]*\sstring\s*=\s*[\"'](?P<string>true|false))|)[\"']?(?P<key>[^\"'<>]++)[\"']?[^<>]*+>"
)
_PARAM_END = rf"</{P}param(?:eter)?{S}>"
_CWM = rf"<tool:\s*[\w.-]{{1,40}}\s*>\s*(?P<name>{IDENT})(?=\s)"
_HARMONY = (
    r"(?:<\|start\|>\s*assistant)?(?:<\|channel\|>\s*(?!analysis(?!\s+to=functions\.))\w+)?"
    r"\s*to=(?!(?:assistant|user|self|commentary|all|developer)\b)(?P<name>[^\s<]++)\s*+(?:<\|channel\|>)?+[^<]*+"
    rf"(?:<\|constrain\|>[^<]*+)?+<\|message\|>(?=\s*(?:[^\s<]|<\||<{P}param))"
)
_HARMONY_END = r"<\|(?:call|end|return)\|>"
_FUNCTION = (
    rf"<{P}(?:function\s*=\s*+(?=[^<>\n]+>)|(?:invoke|function)(?:\s[^<>]*?)?name\s*=\s*+)"
    r"[\"']?(?P<name>[^\"'<>=/]++)[\"']?[^<>]*+>"
)

DIALECTS: tuple[Dialect, ...] = (
    Dialect("hermes_json", JsonBody(), coated=True),
    Dialect("inkling", JsonBody(lead_in=rf"\s*(?:{IDENT}\s*)?<\|content_invoke_tool_json\|>"), coated=True),
    Dialect(
        "qwen3_coder_xml",
        TagBody(
            call=rf"(?:function\s*{SPECIAL}\s*)?{_FUNCTION}",
            inner=_FUNCTION,
            param=_PARAM,
            param_end=_PARAM_END,
            call_end=rf"</{P}(?:invoke|function){S}>",
            json=True,
            exact=None,
        ),
        coated=True,
    ),
    Dialect(
        "hermes_xml",
        TagBody(
            call=(
                r"(?:<invoke>\s*|<use_mcp_tool>\s*(?:<server_name>(?P<server>[^<>]*)</server_name>\s*)?)?"
                r"<(?:tool_)?name>(?P<name>[^<>]+)</(?:tool_)?name>"
            ),
            inner=rf"(?:{OPEN_TAG}|<invoke>)\s*<(?:tool_)?name>",
            call_end=rf"</{_AROUND}>\s*(?:</invoke>|</use_mcp_tool>|{CLOSE_TAG})|</invoke>|</use_mcp_tool>|{CLOSE_TAG}",
            json=True,
            wrapper=rf"<{_AROUND}>",
            param=_ARGUMENT,
            param_end=_ARGUMENT_END,
        ),
        coated=True,
    ),
    Dialect(
        "named_tag",
        TagBody(
            call=rf"<{P}(?:tool|function)_call\s[^<>]*?name\s*=\s*+[\"']?(?P<name>[^\"'<>=/]++)[\"']?[^<>]*+>",
            call_end=rf"</(?:{_AROUND}>\s*</)?{P}(?:tool|function)_call{S}>",
            empty=r"<[^>]*/>",
            json=True,
            wrapper=rf"<{_AROUND}>",
            param=_ARGUMENT,
            param_end=_ARGUMENT_END,
        ),
        coated=True,
    ),
    Dialect(
        "glm45",
        TagBody(
            call=rf"(?P<name>{_NAME})\s*+(?:\\n\s*+)?(?:<{P}tool_sep{S}>\s*+)?"
            rf"(?=<{P}arg_key{S}>|<\|tool_arg:start\|>|{CLOSE})",
            inner=rf"{OPEN_TAG}\s*{_NAME}",
            param=_KEY,
            param_end=rf"(?:</{P}arg_value{S}>|<\|tool_arg:end\|>)",
            call_end=CLOSE_TAG,
            exact=True,
        ),
        coated=True,
    ),
    Dialect(
        "gemma4",
        NamedBody(r"\s*call\s*:\s*(?P<name>[A-Za-z_][\w.:-]*+)\s*(?=\{)", quotes=('<|"|>', "<escape>")),
        coated=True,
    ),
    Dialect(
        "hermes_named",
        NamedBody(
            rf"\s*(?:(?:\w[\w.:-]*+\s*+)?{SPECIAL}\s*|function\s*\n\s*)?(?P<name>{_NAME}(?::\d+)?)\s*+"
            rf"(?:(?:>|\\n|\[CALL_ID\]\s*[\w-]*|\[ARGS\]|{SPECIAL})\s*+){{0,4}}(?:```\w*\s*)?(?=[\{{\"]|(?:```\s*)?{CLOSE})",
            bare_names=True,
        ),
        coated=True,
    ),
    Dialect("hermes_python", PythonBody(), coated=True),
    Dialect(
        "minimax_m3",
        TagBody(
            call=tag(_M3_RE + "<invoke", "name", "name"),
            param=_M3_RE + r"<(?P<key>[\w.-]+)>",
            param_end=_M3_RE + r"</KEY>",
            call_end=_M3_RE + r"</invoke>",
            exact=True,
            lead="]",
            nested=_M3,
        ),
        coated=True,
        opens=(_M3 + "<tool_call>",),
        closes=rf"{_M3_RE}</tool_call>",
    ),
    Dialect(
        "kimi_k3_xtml",
        TagBody(
            call=tag(r"<\|open\|>call", "tool", "name", _SEP),
            param=tag(r"<\|open\|>argument", "key", "key", _SEP, type=r"\w+"),
            param_end=r"<\|close\|>argument<\|sep\|>",
            call_end=r"<\|close\|>(?:json<\|sep\|><\|close\|>)?call<\|sep\|>",
            wrapper=r"<\|open\|>json[^<]*<\|sep\|>",
            json=True,
        ),
        coated=True,
        opens=("<|open|>tools<|sep|>",),
        closes=r"<\|close\|>tools<\|sep\|>",
    ),
    Dialect(
        "cwm",
        NamedBody(_CWM, required_close=False, until=r"\s*</tool>", must_end=True),
        coated=True,
    ),
    Dialect(
        "harmony",
        NamedBody(_HARMONY, bare_names=True, tags=TagBody(_HARMONY, _PARAM, _PARAM_END, _HARMONY_END, open_end=True)),
        begins=("<|channel|>", "<|start|>", "to=functions."),
        closes=_HARMONY_END,
    ),
    Dialect(
        "roo_xml",
        TagBody(
            call=r"<(?P<name>NAMES)\s*/?>",
            wrapper="<args>",
            param=(
                r"<(?=(?:KEYS)>|(?P<other>[\w.-]+)>[^<]{0,300}</(?P=other)>\s*"
                r"(?:<[\w.-]+>[^<]{0,100}</[\w.-]+>\s*){0,4}(?:</args>\s*)?(?:</NAME>|<(?:KEYS)>))(?P<key>[\w.-]+)>"
            ),
            param_end=r"</KEY>",
            call_end=r"</(?:args>\s*</)?NAME>",
            trim=True,
            empty=r"<[^>]*/>",
        ),
    ),
    Dialect(
        "react",
        NamedBody(
            rf"{ACTION}[ \t]*`?(?P<name>{IDENT})`?[ \t]*\r?\n\s*{ACTION_INPUT}(?=\s*\S)",
            until=rf"\n\s*{label('Observation', 'Thought', 'Action', 'Final Answer')}",
            required_close=False,
        ),
    ),
    Dialect("smol_action", JsonBody(), closes="<end_(?:action|code)>"),
    Dialect(
        "functionary_v32",
        NamedBody(r"(?:>>>)?(?P<name>NAMES)[ \t]*\r?\n(?=\s*\S)", until=r"\n>>>", required_close=False),
    ),
    Dialect("pythonic_list", PythonBody(listed=True)),
    Dialect("fenced_json", JsonBody()),
    Dialect("bare_json_lines", JsonBody()),
)

ROWS: dict[str, Dialect] = {row.name: row for row in DIALECTS}
COATED: tuple[Dialect, ...] = tuple(row for row in DIALECTS if row.coated)


_LINES = Path(__file__).with_name("families.jsonl").read_text(encoding="utf-8").splitlines()
FAMILIES: dict[str, Family] = {
    form["name"]: Family(form.pop("name"), ROWS[form.pop("row")], form.pop("models"), Form(**form))
    for form in map(json.loads, _LINES)
}
"""All ways to write calls, by name; the first of a row is its own."""


@cache
def _by_mark() -> dict[tuple[str, str], str]:
    """The families by their rows and by the markers with which what they write begins."""
    known: dict[tuple[str, str], str] = {}
    mark = re.compile(rf"{coats.MARK}|{coats.BEGIN}|{any_of(coats.OTHER_OPENS)}")
    for family in FAMILIES.values():
        for text in (family.form.around.partition("$")[0], family.form.call.replace("$name", "x")):
            if found := mark.match(text.strip()):
                known.setdefault((family.row.name, found.group()), family.name)
    return known


def family_of(row: Dialect, *marks: str) -> str:
    """Return the name of the family whose calls one of the marks opens, or of the row where none is known by it."""
    known = _by_mark()
    return next((name for mark in marks if (name := known.get((row.name, mark)))), row.name)
