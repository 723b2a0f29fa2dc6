"""The page about dialects, made from the table: `python -m console_app.textcalls > docs/dialects.md`."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from console_app.textcalls.dialects.dialect import Dialect, Family
from console_app.textcalls.dialects.table import DIALECTS, FAMILIES
from console_app.textcalls.model import ToolSignature
from console_app.textcalls.tool_schemas import ToolSchemas

_INTRODUCTION = """\
# Dialects: tool calls written as text

<!-- Made by `python -m console_app.textcalls`; edit the table in console_app/textcalls/dialects/ instead. -->

Local and older models write their tool calls into the text of an answer. Fanout reads all of them, in whichever of the
dialects below. `fanout parse` shows what it makes of a text, and of each call whether and why it asks.

Which of them count depends on `protocol`:

- `text` and `xml`, or `auto` where the endpoint refused the tools: all dialects, by the rules below.
- `auto`: the tools are offered natively with every request, and all dialects are read. A call that only its shape shows
  has to fit its tool, and asks.
- `native`, the endpoints of OpenAI and Anthropic where the protocol is `auto`, and a conversation in which the model
  made a native call, undone or not, or before it was forked: none, unless the endpoint refuses the tools from then on.

**A marker is a core word in any coat**: `tool_call`, `function_call`, `calls`, with whatever prefix, bars, blanks and
suffix a vendor puts around it, and so are the tags within (`invoke`, `function`, `parameter`, `arg_key`, `arg_value`).
What decides is the body behind it, of which the table has one a row. A vendor's next decoration is read as the others.

With each `protocol` a call waits for your approval, in every mode, whose text, or whose tool's name and arguments,
stand in something that the model was given. The board says where. Of more than two million characters the newest are
compared, and then every call asks.

In `auto` a dialect is remembered for a model at its endpoint once you approved a call of it: from then on the tools are
offered as text, the status bar and `/context` say so, and `/protocol auto` or the first native call forgets it.

What seems to be a call and is not read as one stays in the answer, a notice says why, and the model hears it with your
next prompt: a mark that is misspelt (`< tool_call >`, `Action=`), escaped as Markdown is or without its opening, the
end of a call alone, a marked call that the model only thought, in an answer without any other. An answer that shows
nothing is asked for once more, and a second one fails the turn.

How it decides, by the place of a call and by no word, language or name of an element:

- **A call stands at the start of a line, at the top level of the answer.** In quotation marks, a block quote, a
  comment, inline code, also on the line of a backtick that nothing closes, front matter or an indented block it is
  text, and a notice says so; so it is in a fence, unless the fence is how the dialect is written, of three signs, and
  nothing in reasoning counts, nor anything after a result that the model made up.
- **What may be quoted asks**: a call with other text behind it, be it the end of an element or what nobody sees; behind
  text on its line; in an element that is open; indented; behind a line that is no whole sentence (a heading, a label, a
  name, whatever ends in a colon); behind a call that asks so, or that is only shown. It asks in every mode.
- **A call that ends the answer runs**, behind whole sentences or none, where the rules let it and nothing that the
  model was given holds it: no words tell a sentence that leads to a call from one that leads to a quotation.
- **Where the model's form is known**, its calls are read ahead: one on a line of its own starts as soon as its own end
  was read. The line before it matters no more, and a call in another form asks.
- **With nobody to ask**, as in `fanout run`, such a call is denied, its result says why, and the turn goes on.
- **Marked calls** (special tokens, tags) count even of a tool that does not exist: the model is told so.
- **Unmarked calls** (bare JSON, Python, tags that are the tool's name) start a line, with no words behind them on it,
  and count only for tools there are. Beside a call that is only shown, wherever, they ask.
- An answer is read for calls up to 4 million characters and 16,000 calls, and up to 20,000 marks that open none; from
  there on it is text, and a notice says so.
- **Nothing half-read runs.** A call that was cut off or can't be read becomes an `invalid` result that says
  what was wrong. A missing brace is mended only where the call was closed explicitly. What was mended is shown.
- **Nothing is evaluated.** Python calls are read as literals. Values that a template writes without quotes, or with
  quotes in them that nothing escapes (vLLM's for ToolACE and for Llama 3.2 and 4 in Python; that of LFM2.5), can't be
  told apart: such a call is `invalid`. A comma that is missing between arguments is mended, also behind a number or a
  word where the next parameter's name follows at once (vLLM's template for Gemma 3).
- **What a template doesn't write can't be read.** MiniMax-M3's leaves null out, in lists as an empty item, and writes a
  text of digits as it writes the number: such an item is an empty text, and where no schema says what a value is, it is
  a number. FunctionGemma's writes null as the text `None`.
- Text between tags has the type that the tool's schema gives it. A closing tag inside such text counts only
  where the call may really go on after it.
- Unless the form is known, calls start when the answer has ended. Until then a panel may be withdrawn. All text is
  shown once and in its order. Only text that a `</think>` makes reasoning, which nothing opened, is taken back.

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
        f"| [`{row.name}`](#{row.name}) | {_written_by(row)} | {row.body.grammar} | {'yes' if row.marked else 'no'} |"
        for row in DIALECTS
    ]
    table = "\n".join(["| dialect | families | body | marked |", "|---|---|---|---|", *rows])
    examples = "\n\n".join(map(_section, FAMILIES.values()))
    return f"{_INTRODUCTION}\n## Table\n\n{table}\n\n## Two calls in each coat\n\n{examples}\n"


def _written_by(row: Dialect) -> str:
    """The families whose calls a row reads."""
    return ", ".join(f"[`{one.name}`](#{one.name})" for one in FAMILIES.values() if one.row is row)


def _section(family: Family) -> str:
    text = family.form.write(_CALLS, ToolSchemas([_SIGNATURE]))
    return f"### {family.name}\n\n{family.models[:1].upper()}{family.models[1:]}.\n\n~~~~text\n{text}\n~~~~"


if __name__ == "__main__":
    sys.stdout.write(page())
