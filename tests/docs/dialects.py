"""The page about dialects, made from their table behind what stands in `dialects.md` here."""

from pathlib import Path

from console_app.textcalls.dialects.table import FAMILIES, Family
from console_app.textcalls.model import ToolSignature, WrittenCall
from console_app.textcalls.tool_schemas import ToolSchemas

_SIGNATURE = ToolSignature(
    "list_dir",
    {
        "type": "object",
        "properties": {"path": {"type": "string"}, "recursive": {"type": "boolean"}},
        "required": ["path"],
    },
)


_CALLS = (WrittenCall("list_dir", {"path": "src", "recursive": True}), WrittenCall("list_dir", {"path": "docs/a b"}))


def page() -> str:
    tools = ToolSchemas([_SIGNATURE])
    heads = [f"### {one.name}\n\n{_models(one)}" for one in FAMILIES.values()]
    written = [f"~~~~text\n{one.form.write(_CALLS, tools)}\n~~~~" for one in FAMILIES.values()]
    examples = "\n\n".join(f"{head}\n\n{text}" for head, text in zip(heads, written, strict=True))
    introduction = Path(__file__).with_suffix(".md").read_text(encoding="utf-8")
    return f"{introduction}\n## Two calls in each coat\n\n{examples}\n"


def _models(family: Family) -> str:
    said = f"{family.models[:1].upper()}{family.models[1:]}."
    if family.name != family.row.name:
        return f"{said} As [`{family.row.name}`](#{family.row.name})."
    return said if family.row.marked else f"{said} Unmarked."
