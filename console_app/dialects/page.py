"""The page about dialects for the documentation, made from the table itself."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from console_app.dialects.bracket_body import BracketBody
from console_app.dialects.dialect import Body, Dialect
from console_app.dialects.json_body import JsonBody
from console_app.dialects.model import ToolSignature
from console_app.dialects.named_body import NamedBody
from console_app.dialects.python_body import PythonBody
from console_app.dialects.table import DIALECTS
from console_app.dialects.tool_schemas import ToolSchemas

_INTRODUCTION = """\
# Dialects: tool calls written as text

<!-- Made by `python -m console_app.dialects`; edit the table in console_app/dialects/table.py instead. -->

Local and older models write their tool calls into the text of an answer. Fanout reads all of them, in whichever of the
dialects below, and runs them like native calls. `fanout parse` shows what it makes of a text.

Which of them count depends on `protocol`:

- `text` and `xml`, or `auto` where the endpoint refused the tools: all dialects, by the rules below.
- `auto`: the tools are offered natively with every request. Calls in **marked** dialects, whose opening nobody writes
  by accident, run under the usual rules. An **unmarked** call counts only if the whole answer is nothing but calls of
  tools there are, with arguments that fit; it then waits for your approval in every mode.
- `native`, the endpoints of OpenAI and Anthropic, and a conversation in which the model made a native call: none.

With each `protocol` a call waits for your approval, in every mode, whose text, or whose tool's name and arguments,
stand in something that the model was given: a result, a file, what a server says of itself, your own words.

What seems to be a call and is not read as one stays in the answer, and a notice says so.

How it decides:

- **Marked calls** (special tokens, tags) count wherever they stand, even of a tool that does not exist: the
  model is told so. **Unmarked calls** (bare JSON, Python, tags that are the tool's name) count only for tools
  there are, and when their shape leaves no doubt.
- **Quoted is not called**: inline code, block quotes, fences in a program language, fences announced as an
  example, and any fenced call beside one that is not fenced; nor is a marked call in quotation marks, or one
  that its own sentence calls an example. Nothing in a think block counts, nor anything after a result that the
  model made up.
- **Nothing half-read runs.** A call that was cut off or can't be read becomes an `invalid` result that says
  what was wrong. A missing brace is mended only where the call was closed explicitly. What was mended is shown.
- **Nothing is evaluated.** Python calls are read as literals.
- Text between tags has the type that the tool's schema gives it. A closing tag inside such text counts only
  where the call may really go on after it.
- Calls are final when the answer has ended. Until then a panel may be withdrawn, and text that was shown may be
  corrected.

The body of a dialect is read by one of five grammars: JSON, header and JSON, tags, Python, brackets.
"""

_SIGNATURE = ToolSignature(
    "list_dir",
    {
        "type": "object",
        "properties": {"path": {"type": "string"}, "recursive": {"type": "boolean"}},
        "required": ["path"],
    },
)


@dataclass(frozen=True)
class _Example:
    name: str
    arguments: Mapping[str, Any]


_CALLS = (_Example("list_dir", {"path": "src", "recursive": True}), _Example("list_dir", {"path": "docs/a b"}))


def page() -> str:
    """The whole page, in Markdown."""
    rows = [
        f"| [`{row.name}`](#{row.name}) | {row.models} | {_grammar(row.body)} | {_tokens(row)} | "
        f"{'yes' if row.marked else 'no'} |"
        for row in DIALECTS
    ]
    table = "\n".join(["| dialect | written by | body | opens with | marked |", "|---|---|---|---|---|", *rows])
    examples = "\n\n".join(_section(row) for row in DIALECTS if row.form)
    return f"{_INTRODUCTION}\n## Table\n\n{table}\n\n## Two calls in each\n\n{examples}\n"


def _grammar(body: Body) -> str:
    match body:
        case JsonBody():
            return "JSON"
        case NamedBody():
            return "header and JSON"
        case PythonBody():
            return "Python"
        case BracketBody():
            return "brackets"
        case _:
            return "tags"


def _tokens(row: Dialect) -> str:
    tokens = (*row.opens, *row.begins)
    shown = ", ".join(f"`{token}`" for token in tokens[:2])
    return (shown + (", …" if len(tokens) > 2 else "")).replace("|", "\\|") or "its shape, or a label"


def _section(row: Dialect) -> str:
    assert row.form is not None
    text = row.form.write(_CALLS, ToolSchemas([_SIGNATURE]))
    limits = f"\n\nLimits: {row.limits}." if row.limits else ""
    return f"### {row.name}\n\n~~~~text\n{text}\n~~~~{limits}"
