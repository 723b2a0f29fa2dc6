"""The built-in tools as a model sees them; a pydantic model checks each call. Schemas are written by hand, since models
differ in what they make of references and unions. The checks take a little more than they say."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from console_app.domain import ToolSpec, one_line, safe_text
from console_app.domain import agents as ag
from console_app.domain import events as ev
from console_app.domain.tools import OWN_SERVER, ToolAnnotations

MOST_ITEMS = 200
_LINE = re.compile(r"^\s*(?:(?:[-*+•]|\d{1,3}[.)])\s+)?\[\s*(?P<mark>[xX~\-/]?)\s*\]\s+(?P<boxed>\S.*)$")
_BULLET = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+(?P<text>\S.*)$")
_STATUSES = {
    ev.TodoStatus.PENDING: ("pending", "todo", "open", "not_started", "not started"),
    ev.TodoStatus.IN_PROGRESS: ("in_progress", "in progress", "in-progress", "doing", "active", "started"),
    ev.TodoStatus.COMPLETED: ("completed", "complete", "done", "finished"),
}
_BY_WORD = {word: status for status, words in _STATUSES.items() for word in words}
_MARKS = {ev.TodoStatus.PENDING: "[ ]", ev.TodoStatus.IN_PROGRESS: "[-]", ev.TodoStatus.COMPLETED: "[x]"}


def read_items(value: Any) -> tuple[ev.TodoItem, ...]:
    if isinstance(value, str):
        items = _of_text(value)
    elif isinstance(value, list | tuple):
        items = [_of_entry(entry, number) for number, entry in enumerate(cast("list[Any]", value), 1)]
    else:
        raise ValueError("must be a list of items with content and status, or a Markdown checklist")
    if len(items) > MOST_ITEMS:
        raise ValueError(f"has {len(items)} items, and {MOST_ITEMS} is the most")
    return tuple(items)


def as_checklist(items: Iterable[ev.TodoItem]) -> str:
    return "\n".join(f"{_MARKS[item.status]} {item.content}" for item in items) or "(the list is empty)"


def open_items(items: Iterable[ev.TodoItem]) -> list[ev.TodoItem]:
    return [item for item in items if item.status is not ev.TodoStatus.COMPLETED]


def _of_text(text: str) -> list[ev.TodoItem]:
    items: list[ev.TodoItem] = []
    for line in text.splitlines():
        if match := _LINE.match(line):
            mark = match["mark"].lower()
            status = (
                ev.TodoStatus.COMPLETED if mark == "x" else ev.TodoStatus.IN_PROGRESS if mark else ev.TodoStatus.PENDING
            )
            items.append(ev.TodoItem(content=_one_line(match["boxed"]), status=status))
        elif bullet := _BULLET.match(line):
            items.append(ev.TodoItem(content=_one_line(bullet["text"])))
    if not items and text.strip():
        raise ValueError("has no line like “[ ] what is to be done”")
    return items


def _of_entry(entry: Any, number: int) -> ev.TodoItem:
    if isinstance(entry, ev.TodoItem):
        return entry
    if isinstance(entry, str):
        found = _of_text(entry) if _LINE.match(entry) else [ev.TodoItem(content=_one_line(entry))]
        entry = found[0].model_dump()
    if not isinstance(entry, Mapping):
        raise ValueError(f"item {number} is no object with content and status")
    fields = cast("Mapping[str, Any]", entry)
    content, status = fields.get("content"), fields.get("status", ev.TodoStatus.PENDING)
    if not isinstance(content, str) or not content.strip():
        raise ValueError(f"item {number} has no content")
    known = _BY_WORD.get(str(status).strip().lower())
    if known is None:
        raise ValueError(f"item {number} has the status “{status}”; there are pending, in_progress and completed")
    return ev.TodoItem(content=_one_line(content), status=known)


def _one_line(text: str) -> str:
    return " ".join(text.split())


FINISHED, TODO, QUESTION = "finished", "update_todo_list", "ask_followup_question"
ENABLE = "enable_server"
SKILL = "skill"
MOST_SERVERS = 50  # servers that are off and named to the model
MOST_ABOUT = 200  # characters of what one is for
MOST_OPTIONS = 4
FOLLOW_UP = "follow_up"  # what the options are called where models learned this tool: in Roo Code and Kilo Code
_SUGGESTED = re.compile(r"<suggest\b[^>]*>(.*?)</suggest>", re.DOTALL)
_TEXTS = ("text", "answer", "label")  # the key of an option that is an object


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True, defer_build=True)


def with_own_names(spec: ToolSpec, arguments: dict[str, Any]) -> dict[str, Any]:
    if spec.tool != QUESTION or FOLLOW_UP not in arguments or "options" in arguments:
        return arguments
    rest = {name: value for name, value in arguments.items() if name != FOLLOW_UP}
    return {**rest, "options": _options(arguments[FOLLOW_UP])}


def _options(value: Any) -> Any:
    """Read a list of texts, or of objects that hold one (Roo's), or older `<suggest>` tags. Anything else stays as it
    is: the check says what is wrong."""
    if isinstance(value, str):
        found = _SUGGESTED.findall(value) or [line.strip(" -*•\t") for line in value.splitlines()]
        return [text.strip() for text in found if text.strip()]
    if not isinstance(value, list):
        return value
    entries = [(entry, safe_text.as_object(entry)) for entry in cast("list[Any]", value)]
    return [next((of[key] for key in _TEXTS if isinstance(of.get(key), str)), entry) for entry, of in entries]


class FindTools(_Arguments):
    query: Annotated[str, Field(min_length=1)]


class RunProgram(_Arguments):
    code: Annotated[str, Field(min_length=1)]


class Finished(_Arguments):
    final_answer: str


class UpdateTodoList(_Arguments):
    todos: Annotated[tuple[ev.TodoItem, ...], BeforeValidator(read_items)]


class AskFollowupQuestion(_Arguments):
    question: Annotated[str, Field(min_length=1)]
    options: tuple[str, ...] = Field(default=(), max_length=MOST_OPTIONS)


class EnableServer(_Arguments):
    server: Annotated[str, Field(min_length=1)]


class ReadSkill(_Arguments):
    name: Annotated[str, Field(min_length=1)]
    file: str = ""


class SendAgent(_Arguments):
    task: Annotated[str, Field(min_length=1)]
    name: str = ""
    kind: str = ""
    model: str = ""
    tools: tuple[str, ...] | None = None
    max_steps: Annotated[int | None, Field(ge=1)] = None
    background: bool = False
    worktree: bool = False


def wrong_with(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_context=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    message = first["msg"].removeprefix("Value error, ")
    return f"“{place}”: {message[:1].lower()}{message[1:]}" if place else message


def _spec(tool: str, description: str, properties: dict[str, Any], required: list[str], **more: Any) -> ToolSpec:
    return ToolSpec(
        name=f"{OWN_SERVER}_{tool}",
        server=OWN_SERVER,
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


def is_agent(spec: ToolSpec | None) -> bool:
    return spec is not None and spec.builtin and spec.tool == ag.AGENT


def agent_spec(kinds: Mapping[str, str]) -> ToolSpec:
    listed = "\n".join(f"- {name}: {one_line(about, MOST_ABOUT)}" for name, about in kinds.items())
    return _spec(
        ag.AGENT,
        "Sends an agent to do one task in a conversation of its own, and returns its last answer. Send several in one "
        "answer where tasks don't need each other: they run in parallel. The agent knows nothing of this conversation, "
        f"so the task has to say all that it needs and what it is to answer. Kinds:\n{listed}",
        {
            "task": {"type": "string", "description": "The whole task, and what to answer."},
            "name": {"type": "string", "description": "One or two words that tell the agent from others."},
            "kind": {"type": "string", "enum": list(kinds), "description": "The kind of agent."},
            "model": {"type": "string", "description": "PROVIDER/MODEL, where the user named one."},
            "tools": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Patterns of the only tools that it has.",
            },
            "max_steps": {"type": "integer", "minimum": 1, "description": "Answers that it may give at most."},
            "background": {"type": "boolean", "description": "Go on without it; its answer follows as a message."},
            "worktree": {"type": "boolean", "description": "Work in a git worktree; hand back a branch and a diff."},
        },
        ["task"],
        idempotent=True,  # to run it again is a person's own wish, and its calls ask for themselves
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
                        "status": {"type": "string", "enum": [status.value for status in ev.TodoStatus]},
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


SKILL_SPEC = _spec(
    SKILL,
    "Reads a skill, which says what to do for a kind of task. The system prompt lists them; read one before you begin.",
    {
        "name": {"type": "string", "description": "The skill's name."},
        "file": {"type": "string", "description": "A file that the skill brings, in place of its text."},
    },
    ["name"],
    read_only=True,
)


def enable_spec(off: Mapping[str, str]) -> ToolSpec:
    """Return the tool that asks for a server, with those that are `off` and what each is for. It starts a program that
    the user has switched off, so unlike the other built-in tools it needs an approval."""
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
