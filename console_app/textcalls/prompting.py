"""Tells models without native tools of them, answers and stops them, in a dialect.

Models are trained on one dialect and copy what they see, so each is given the section, the example and the results in
the form it knows, else Hermes JSON. Every section asks for independent calls in one reply, as few templates do."""

import html
import json
import re
from collections.abc import Sequence

from console_app.domain import schema as json_schema
from console_app.records import dataclass
from console_app.textcalls.dialects.table import FAMILIES
from console_app.textcalls.model import ToolSignature, WrittenCall
from console_app.textcalls.patterns import lazily
from console_app.textcalls.tool_schemas import ToolSchemas

_EXAMPLES = (
    WrittenCall("first_tool", {"parameter_1": "value 1", "parameter_2": 2}),
    WrittenCall("second_tool", {"parameter_1": "a text\nof two lines"}),
)
"""Placeholders: an example that names a real tool is copied by small models."""

_AS_THEY_ARE = "Write values as they are, without quotes or escapes; lists and objects as JSON."
_HOW = {
    "hermes_json": "To call a tool, write a JSON object with its name and its arguments within"
    " <tool_call></tool_call>.",
    "qwen3_coder_xml": "To call a tool, write a <function=NAME> block within <tool_call></tool_call>, with one"
    f" <parameter=KEY> block for each argument. {_AS_THEY_ARE}",
    "roo_xml": "To call a tool, write a tag with the tool's name, and in it one tag for each parameter."
    f" {_AS_THEY_ARE} Close every tag.",
}
_BY_EXAMPLE = "To call a tool, write it exactly in the form of the example below, every delimiter included."
"""For a dialect that a model was seen to write by itself: it knows the form and is only told to keep to it."""

_PARALLEL = (
    "You may call several tools in one reply. When calls do not depend on each other's results, write ALL of them"
    " in the same reply, one block each; they run at the same time. Only wait for a result when the next call needs it."
)
_SINGLE = "Call one tool in a reply, and wait for its result before the next."
_RULES = (
    "Write nothing after the last call. Never write a <tool_response> yourself: results are sent to you."
    " Do not put tool calls in code fences or in your reasoning."
)


def _roo_tool(tool: ToolSignature) -> str:
    known, needed = json_schema.properties(tool.parameters), json_schema.required(tool.parameters)
    lines = [f"## {tool.name}", tool.description.strip(), "Parameters:" if known else "Parameters: none"]
    for key, one in known.items():
        schema, need = json_schema.as_schema(one), "required" if key in needed else "optional"
        kind = json_schema.text(schema, "type")
        kinds = f", {kind}" if kind not in ("", "string") else ""
        lines.append(f"- {key}: ({need}{kinds}) {json_schema.text(schema, 'description')}".rstrip())
    usage = "".join(f"<{key}>{key} here</{key}>\n" for key in known)
    lines.append(f"Usage:\n<{tool.name}>\n{usage}</{tool.name}>")
    return "\n".join(filter(None, lines))


def render_calls(dialect_name: str, calls: Sequence[WrittenCall], tools: Sequence[ToolSignature]) -> str:
    """`calls` written in a dialect, for the history; ValueError for a dialect that cannot be written."""
    family = FAMILIES.get(dialect_name)
    if family is None:
        raise ValueError(f"no calls can be written in {dialect_name}")
    return family.form.write(calls, ToolSchemas(tools)) if calls else ""


_LABELLED = ("react", "smol_action", "langchain_action_fence")
_LABEL = lazily(r"^(?=(?:Observation|Thought|Action|Action Input|Final Answer):)", re.MULTILINE)
_CLOSER = lazily(r"<(?=/?(?:tool_response|result)\b)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Prompting:
    """Words what a model reads in place of native tools, in one dialect: its tools, and the results of its calls."""

    dialect: str

    def section(self, tools: Sequence[ToolSignature], parallel: bool) -> str:
        """Return the part of the system prompt that presents `tools`; `parallel`: several calls a reply are wanted."""
        dialect = self.dialect if self.dialect in FAMILIES else "hermes_json"
        if dialect == "roo_xml":
            described = ["You can call these tools.", *map(_roo_tool, tools)]
        else:
            told = [
                {"name": one.name, "description": one.description, "parameters": dict(one.parameters)} for one in tools
            ]
            lines = [json.dumps({"type": "function", "function": one}, ensure_ascii=False) for one in told]
            listed = ["You can call these tools, given one a line as JSON:", "<tools>", *lines, "</tools>"]
            described = ["\n".join(listed)]
        title = "A reply with two calls looks like this:" if parallel else "A call looks like this:"
        example = FAMILIES[dialect].form.write(_EXAMPLES if parallel else _EXAMPLES[:1], ToolSchemas(()))
        rules = f"{_PARALLEL if parallel else _SINGLE} {_RULES}"
        return "\n\n".join(("# Tools", *described, _HOW.get(dialect, _BY_EXAMPLE), f"{title}\n{example}", rules))

    def results(self, results: Sequence[tuple[str, str, str]]) -> str:
        """Return the one user turn that answers all calls of a reply, in call order: each a tool, a status and a text.

        Texts carry no ids, so each result bears the number of its call (from 1), the tool and the status. Tags of
        results within a result are broken with an entity, and labels are indented: none can pretend to be another."""
        numbered = list(enumerate(results, 1))
        if self.dialect in _LABELLED:
            return "\n".join(
                f"Observation: [{number}, {tool}, {status}] {_LABEL.sub('  ', text)}"
                for number, (tool, status, text) in numbered
            )
        tag = "result" if self.dialect in ("qwen3_coder_xml", "roo_xml") else "tool_response"
        body = "\n".join(
            f'<{tag} id="{number}" tool="{html.escape(tool)}" status="{html.escape(status)}">\n'
            f"{_CLOSER.sub('&lt;', text)}\n</{tag}>"
            for number, (tool, status, text) in numbered
        )
        return f"<tool_response>\n{body}\n</tool_response>" if tag == "result" else body

    def stops(self) -> tuple[str, ...]:
        """Return where a reply must end because the model would make up results; never the end of a call."""
        return ("Observation:",) if self.dialect in _LABELLED else ("<tool_response", "Observation:")
