"""Writes calls in a dialect: a row of the table, the templates of a family, and how arguments are encoded.

What is written is read back the same: values that a dialect would misread are put in CDATA, where it has such a thing.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from string import Template
from typing import Any, Literal, Protocol, TypeAlias

from console_app.domain import schema as json_schema
from console_app.textcalls.bodies.json_body import JsonBody
from console_app.textcalls.bodies.named_body import NamedBody
from console_app.textcalls.bodies.python_body import PythonBody
from console_app.textcalls.bodies.tag_body import TagBody
from console_app.textcalls.dialects.coats import PLAIN_OPENS
from console_app.textcalls.model import is_list, is_object
from console_app.textcalls.patterns import lazily
from console_app.textcalls.tool_schemas import ToolSchemas

_ENTITY = lazily(r"&(?:\w+|#\w+);")
_TAG_OPEN = lazily(r"<(?=[/|!\w])")
_MARKS = (
    "<tool_call", "</tool_call", "<function", "</function", "<param", "</param", "invoke", "arg_key>", "arg_value>",
    "<![CDATA[", "minimax[",
)  # fmt: skip
_PLAIN_KEY = lazily(r"[A-Za-z_][\w-]*")


class WrittenCall(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def arguments(self) -> Mapping[str, Any]: ...


@dataclass(frozen=True)
class Form:
    """Templates: `call` with $name, $arguments and $index, `around` with $calls, `param` with $key, $value,
    $type and $string. `values` is the encoding: json, json_text (JSON within a JSON string), raw, exact
    (raw, and told to be text), python or quoted (by `quote`). `cdata`: a raw value may be put in CDATA. `trims` and
    `keeps`: what readers make of white space around a raw value, as `trim` and `exact` of its grammar.
    """

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
    ends it beside a closing marker. A row with none of them has no marker: the scanner knows its calls by the tools'
    names and by shape.
    """

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
        """Tell whether nobody writes by accident how the calls of the family open."""
        return self.row.marked and not self.opening.startswith((*PLAIN_OPENS, "<function name"))
