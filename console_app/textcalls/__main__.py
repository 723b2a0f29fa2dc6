"""The page about dialects, made from the table: `python -m console_app.textcalls > docs/dialects.md`."""

import sys
from pathlib import Path

from console_app.textcalls.dialects.form import Family
from console_app.textcalls.dialects.table import DIALECTS, FAMILIES
from console_app.textcalls.model import ToolSignature
from console_app.textcalls.prompting import ExampleCall
from console_app.textcalls.tool_schemas import ToolSchemas

_SIGNATURE = ToolSignature(
    "list_dir",
    {
        "type": "object",
        "properties": {"path": {"type": "string"}, "recursive": {"type": "boolean"}},
        "required": ["path"],
    },
)


_CALLS = (ExampleCall("list_dir", {"path": "src", "recursive": True}), ExampleCall("list_dir", {"path": "docs/a b"}))


def page() -> str:
    rows = ["| dialect | families | body | marked |", "|---|---|---|---|"]
    for row in DIALECTS:
        written_by = ", ".join(f"[`{one.name}`](#{one.name})" for one in FAMILIES.values() if one.row is row)
        marked = "yes" if row.marked else "no"
        rows.append(f"| [`{row.name}`](#{row.name}) | {written_by} | {row.body.grammar} | {marked} |")
    table = "\n".join(rows)
    examples = "\n\n".join(map(_section, FAMILIES.values()))
    introduction = (Path(__file__).parent / "dialects" / "introduction.md").read_text(encoding="utf-8")
    return f"{introduction}\n## Table\n\n{table}\n\n## Two calls in each coat\n\n{examples}\n"


def _section(family: Family) -> str:
    text = family.form.write(_CALLS, ToolSchemas([_SIGNATURE]))
    return f"### {family.name}\n\n{family.models[:1].upper()}{family.models[1:]}.\n\n~~~~text\n{text}\n~~~~"


if __name__ == "__main__":
    sys.stdout.write(page())
