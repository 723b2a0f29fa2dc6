"""The page about dialects, made from the table: `python -m console_app.textcalls > docs/dialects.md`."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from console_app.textcalls.dialects.dialect import Dialect
from console_app.textcalls.dialects.table import DIALECTS
from console_app.textcalls.model import ToolSignature
from console_app.textcalls.tool_schemas import ToolSchemas

_INTRODUCTION = """\
# Dialects: tool calls written as text

<!-- Made by `python -m console_app.textcalls`; edit the table in console_app/textcalls/dialects/ instead. -->

Local and older models write their tool calls into the text of an answer. Fanout reads all of them, in whichever of the
dialects below, and runs them like native calls. `fanout parse` shows what it makes of a text.

Which of them count depends on `protocol`:

- `text` and `xml`, or `auto` where the endpoint refused the tools: all dialects, by the rules below.
- `auto`: the tools are offered natively with every request. Calls in **marked** dialects, whose opening nobody writes
  by accident, run under the usual rules. An **unmarked** call counts only if the whole answer is nothing but calls of
  tools there are, with arguments that fit; it then waits for your approval in every mode.
- `native`, the endpoints of OpenAI and Anthropic where the protocol is `auto`, and a conversation in which the model
  made a native call, undone or not, or before it was forked: none, unless the endpoint refuses the tools from then on.

With each `protocol` a call waits for your approval, in every mode, whose text, or whose tool's name and arguments,
stand in something that the model was given: a result, also of a tool that the provider runs, a file, what a server says
of itself or of why it failed, your own words, and what an answer said before a new start or another model. It is known
again in whatever layout, quotation, escapes or lookalike letters, in what tags and comments hold, behind numbers of
lines, with its letters apart, coded (UTF-7, base64 and base32, also twice; numbers of bytes) or turned (ROT13,
backwards), and in several results of which one names the tool and holds a quarter of the values. Not known again is
what has to be understood or worked out: another language, words in another order, any other cipher, compressed data, a
tool named in one text and all of its values in another. A model that follows such words makes a call of its own,
natively as in text: rules and modes are what stands between.

The board says where. Of more than two million characters the newest are compared, and then every call asks.

In `auto` a dialect is remembered for a model at its endpoint once you approved a call of it: from then on the tools are
offered as text, the status bar and `/context` say so, and `/protocol auto` or the first native call forgets it.

What seems to be a call and is not read as one stays in the answer, a notice says why, and the model hears it with your
next prompt: a call in a sentence, a mark that is misspelt (`< tool_call >`, `Action=`), escaped as Markdown is or
without its opening, the end of a call alone (a special token wherever it stands), a marked call that the model only
thought, in an answer without any other. An answer that shows nothing is asked for once more, and a second one fails the
turn. `fanout parse` reads as `text` does; `--protocol auto` shows what `auto` would read.

How it decides:

- **A call stands at the top level of the answer.** In quotation marks, a block quote, a list, a table, a comment,
  inline code, also on the line of a backtick that nothing closes, an element, front matter, an indented block or one of
  Textile's (`bc.`, `bq.`) it is text; so it is in a fence, unless the fence is how the dialect is written, of three
  signs, and nothing in reasoning counts, nor anything after a result that the model made up. What stands right behind a
  call that is only shown is only shown, too. Further behind it a marked call waits for your approval, and an unmarked
  one is text wherever it stands in such an answer, as it is beside a fence that shows a call: nothing but its place
  told it from the other. An example in a fence that could hold a call counts for none of that.
- **A call with other text behind it asks**, with each `protocol`, in every mode and every language: no word before or
  behind it lets it run, and none hides it. So does a call before results that the model made up (`Observation:`). The
  ends of elements and the tags of a wrapper around the call are no text.
- **A call that ends the answer runs**, where the rules let it and nothing that the model was given holds it, whatever
  sentence leads to it: models lead to their own calls as to quoted ones, and no words tell those apart. It asks behind
  a word and a colon (`NOTE:`, `a.txt:`), if the word is none for a call or an answer (`Tool:`, `Response:`), behind
  words that call it an example, behind a colon on its own line, in the brackets of prose, and with all calls behind
  such a one. In `auto` it also asks behind a line that is no sentence: a delimiter, a heading, a prompt, a file's name,
  a clause that ends in a comma or a dash. One that is indented by a blank, as some tokenizers write, asks behind all of
  these and behind a colon.
- A fence to which a line of that kind or a colon leads, and that text follows, is shown, unless the model was asked to
  write what it holds.
- **With nobody to ask**, as in `fanout run`, such a call is denied, its result says why, and the turn goes on.
- **Marked calls** (special tokens, tags) count even of a tool that does not exist: the model is told so. One may
  follow a sentence on its line; with words, a full stop or a comment behind it, it is part of a sentence, and text.
  Only a letter right behind a special token that ends a call begins what the model says next.
- An answer is read for calls up to 4 million characters and 16,000 calls, and up to 20,000 marks that open none; from
  there on it is text, and a notice says so.
- **Unmarked calls** (bare JSON, Python, tags that are the tool's name) start a line, with no words behind them on it,
  and count only for tools there are. A prompt (`>>>`, `A:`) before a label on its line makes it text, as words behind
  its call do, on the line or in its fence. Tags like `<call>` on lines of their own around one are not shown.
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
- Calls start when the answer has ended. Until then a panel may be withdrawn. Text behind a call is shown once it is
  sure what the call is: in `auto`, where a call has to be all of the answer, by the first other text; else at the end.
  So all text is shown once and in its order. Only text that a `</think>` makes reasoning, which nothing opened, is
  taken back.
- After 20,000 marks that open no call the rest of an answer is not read, and a notice says so.

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
        f"| {_name(row)} | {row.models} | {row.body.grammar} | {_tokens(row)} | {'yes' if row.marked else 'no'} |"
        for row in DIALECTS
    ]
    table = "\n".join(["| dialect | written by | body | opens with | marked |", "|---|---|---|---|---|", *rows])
    examples = "\n\n".join(_section(row) for row in DIALECTS if row.form)
    return f"{_INTRODUCTION}\n## Table\n\n{table}\n\n## Two calls in each\n\n{examples}\n"


def _name(row: Dialect) -> str:
    """A link where the row has calls below."""
    return f"[`{row.name}`](#{row.name})" if row.form else f"`{row.name}`"


def _tokens(row: Dialect) -> str:
    tokens = (*row.opens, *row.begins)
    shown = ", ".join(f"`{token}`" for token in tokens[:2])
    return (shown + (", …" if len(tokens) > 2 else "")).replace("|", "\\|") or "its shape, or a label"


def _section(row: Dialect) -> str:
    assert row.form is not None
    text = row.form.write(_CALLS, ToolSchemas([_SIGNATURE]))
    limits = f"\n\nLimits: {row.limits}." if row.limits else ""
    return f"### {row.name}\n\n~~~~text\n{text}\n~~~~{limits}"


if __name__ == "__main__":
    sys.stdout.write(page())
