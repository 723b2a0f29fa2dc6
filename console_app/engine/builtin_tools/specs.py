"""The built-in tools as a model sees them, and what their calls must hold: each checked by a pydantic model.

Schemas are written by hand, since models differ in what they make of references and unions; the models behind them
take a little more than the schema says (a checklist as Markdown, say), and nothing that they don't understand.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from console_app.domain.events import TodoItem, TodoStatus
from console_app.domain.safe_text import one_line
from console_app.domain.tools import ToolAnnotations, ToolSpec
from console_app.engine.builtin_tools.todo_list import read_items

SERVER = "fanout"
FINISHED, TODO, QUESTION = "finished", "update_todo_list", "ask_followup_question"
ENABLE = "enable_server"
MOST_SERVERS = 50  # servers that are off and named to the model
MOST_ABOUT = 200  # characters of what one is for
MOST_OPTIONS = 4
FOLLOW_UP = "follow_up"  # what the options are called where models learned this tool: in Roo Code and Kilo Code
_SUGGESTED = re.compile(r"<suggest\b[^>]*>(.*?)</suggest>", re.DOTALL)
_TEXTS = ("text", "answer", "label")  # the key of an option that is an object


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)


def with_own_names(spec: ToolSpec, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a built-in tool by the names that its schema has, where a model knows them by others."""
    if spec.tool != QUESTION or FOLLOW_UP not in arguments or "options" in arguments:
        return arguments
    rest = {name: value for name, value in arguments.items() if name != FOLLOW_UP}
    return {**rest, "options": _options(arguments[FOLLOW_UP])}


def _options(value: Any) -> Any:
    """A list of texts or of objects that hold one (Roo's has a mode beside it), or the older text of `<suggest>` tags.

    What is none of these is left as it is: the check says what is wrong.
    """
    if isinstance(value, str):
        found = _SUGGESTED.findall(value) or [line.strip(" -*•\t") for line in value.splitlines()]
        return [text.strip() for text in found if text.strip()]
    return [_option(entry) for entry in cast("list[Any]", value)] if isinstance(value, list) else value


def _option(entry: Any) -> Any:
    if not isinstance(entry, dict):
        return entry
    fields = cast("dict[str, Any]", entry)
    return next((fields[key] for key in _TEXTS if isinstance(fields.get(key), str)), fields)


class Finished(_Arguments):
    """Of `finished`."""

    final_answer: str


class UpdateTodoList(_Arguments):
    """Of `update_todo_list`: the whole list."""

    todos: Annotated[tuple[TodoItem, ...], BeforeValidator(read_items)]


class AskFollowupQuestion(_Arguments):
    """Of `ask_followup_question`."""

    question: Annotated[str, Field(min_length=1)]
    options: tuple[str, ...] = Field(default=(), max_length=MOST_OPTIONS)


class EnableServer(_Arguments):
    """Of `enable_server`."""

    server: Annotated[str, Field(min_length=1)]


def wrong_with(error: ValidationError) -> str:
    """The first thing that speaks against a call's arguments, in one sentence."""
    first = error.errors(include_url=False, include_context=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    message = first["msg"].removeprefix("Value error, ")
    return f"“{place}”: {message[:1].lower()}{message[1:]}" if place else message


def _spec(tool: str, description: str, properties: dict[str, Any], required: list[str], **more: Any) -> ToolSpec:
    return ToolSpec(
        name=f"{SERVER}_{tool}",
        server=SERVER,
        tool=tool,
        description=description,
        input_schema={
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": False,
        },
        annotations=ToolAnnotations(destructive=False, open_world=False, **more),
        timeout=0,  # a person may take any time to answer
        builtin=True,
    )


SPECS: dict[str, ToolSpec] = {
    TODO: _spec(
        TODO,
        "Keeps the to-do list that the user sees. Send the whole list each time: it replaces the one before. Use it "
        "for work of several steps, and keep the states true as you go; it may stand beside other calls.",
        {
            "todos": {
                "type": "array",
                "description": "All items, in order.",
                "items": {
                    "type": "object",
                    "properties": {
                        "content": {"type": "string", "description": "What is to be done, in one line."},
                        "status": {"type": "string", "enum": [status.value for status in TodoStatus]},
                    },
                    "required": ["content", "status"],
                },
            }
        },
        ["todos"],
        idempotent=True,
    ),
    QUESTION: _spec(
        QUESTION,
        "Asks the user one question and waits for the answer. Only for what you can't find out or decide yourself.",
        {
            "question": {"type": "string", "description": "The question, whole and to the point."},
            "options": {
                "type": "array",
                "items": {"type": "string"},
                "maxItems": MOST_OPTIONS,
                "description": "Up to four answers to choose from; the user may always answer in other words.",
            },
        },
        ["question"],
        read_only=True,
    ),
    FINISHED: _spec(
        FINISHED,
        "Ends your work on the user's request. Call it once everything is done and you have read the results. It is "
        "refused when another call of the same answer fails.",
        {"final_answer": {"type": "string", "description": "The whole answer to the user, in Markdown."}},
        ["final_answer"],
        read_only=True,
    ),
}


def enable_spec(off: Mapping[str, str]) -> ToolSpec:
    """The tool that asks for a server, with those that are `off` and what each is for. It starts a program that the
    user has switched off, so unlike the other built-in tools it needs an approval."""
    named = dict(list(off.items())[:MOST_SERVERS])
    lines = "\n".join(f"- {name}: {one_line(about, MOST_ABOUT) or 'no description'}" for name, about in named.items())
    spec = _spec(
        ENABLE,
        "Asks the user to switch on a server that is off. Only when the request needs what no tool that you have can "
        f"do: its tools are there from your next answer on. Servers that are off:\n{lines}",
        {"server": {"type": "string", "enum": list(named), "description": "The name of the server."}},
        ["server"],
        idempotent=True,
    )
    return spec.model_copy(update={"asks": True})
