"""Put a call into the words of the protocol: its kind, where it works, what it would change, and its result."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from acp import schema

from console_app.console import files
from console_app.domain import Artifact, ToolSpec, call_description, displayed, one_line
from console_app.domain.transcript import CallView, results

Contents = list[schema.ContentToolCallContent | schema.FileEditToolCallContent | schema.TerminalToolCallContent]
LONGEST_OUTPUT = 200_000  # characters of a result that an editor is sent; the model's is whole
_NEWEST = 20  # lines of its log, and of its output, that a running call shows
_LINES = ("line", "start_line", "line_start", "from_line", "offset")
_BRIEF = 60
_WORD = r"(?:^|[^a-z]){}(?![a-z])"
# Kinds by the tool's name, for tools that call themselves read-only and for all others: the kinds are for icons.
_READING: tuple[tuple[str, schema.ToolKind], ...] = (
    (_WORD.format("(?:search|grep|find|query|glob)"), "search"),
    (_WORD.format("(?:fetch|browse|download|url|web)"), "fetch"),
)
_OTHERS: tuple[tuple[str, schema.ToolKind], ...] = (
    (_WORD.format("(?:delete|remove|unlink|rm)"), "delete"),
    (_WORD.format("(?:move|rename|mv)"), "move"),
    (_WORD.format("(?:run|exec|execute|shell|bash|command|terminal|eval)"), "execute"),
    (_WORD.format("(?:edit|write|overwrite|create|save|patch|replace|append|insert)"), "edit"),
)


def text(words: str) -> schema.TextContentBlock:
    return schema.TextContentBlock(type="text", text=words)


def content(words: str) -> schema.ContentToolCallContent:
    return schema.ContentToolCallContent(type="content", content=text(words))


def kind_of(call: CallView, spec: ToolSpec | None) -> schema.ToolKind:
    """Return the kind of a call, which chooses its icon. Only a declared read-only tool reads: an editor may let those
    run without asking."""
    if spec is not None and spec.builtin:
        return "other" if spec.asks else "think"
    reads = spec is not None and spec.annotations.read_only
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", call.tool or call.name).lower()
    for pattern, kind in _READING if reads else _OTHERS:
        if re.search(pattern, name):
            return kind
    return "read" if reads else "other"


def shape(call: CallView, spec: ToolSpec | None, folder: Path) -> dict[str, Any]:
    arguments = call.arguments or {}
    shown = displayed.path_of(arguments) or next(
        (value for value in arguments.values() if isinstance(value, str) and value), ""
    )
    return {
        "title": one_line(f"{call.label}: {one_line(shown, _BRIEF)}" if shown else call.label, 200),
        "kind": kind_of(call, spec),
        "raw_input": call.arguments,
        "locations": _locations(arguments, Path(call.folder or folder)) or None,
    }


def _locations(arguments: Mapping[str, Any], folder: Path) -> list[schema.ToolCallLocation]:
    path = displayed.path_of(arguments)
    if not path or "://" in path or "\0" in path:
        return []
    line = next((n for name in _LINES if type(n := arguments.get(name)) is int and n > 0), None)
    return [schema.ToolCallLocation(path=str(absolute(path, folder)), line=line)]


def absolute(path: str, folder: Path) -> Path:
    """Return a path that a call names; one of an unknown user's home is as it stands."""
    try:
        return folder / Path(path).expanduser()
    except RuntimeError:
        return folder / path


def edits(arguments: Mapping[str, Any], folder: Path) -> Contents:
    path = displayed.path_of(arguments)
    found = displayed.edits_of(arguments)[0] if path else []
    return [_diff(absolute(path, folder), old, new) for old, new in found]


def whole_change(call: CallView, folder: Path) -> Contents:
    """Diff a file that a call writes whole against the file now. It reads that: not for the event loop."""
    arguments, folder = call.arguments or {}, Path(call.folder or folder)
    path, whole = displayed.path_of(arguments), displayed.whole_of(call.tool or call.name, arguments)
    if not path or not whole or len(arguments[whole]) > files.LARGEST:
        return []
    try:
        return [_diff(absolute(path, folder), files.text_of(absolute(path, folder)), arguments[whole])]
    except (files.NotComparedError, OSError, ValueError):
        return []


def _diff(path: Path, old: str | None, new: str) -> schema.FileEditToolCallContent:
    # A new file has the empty text: that it has none is told by nothing at all, and there are editors that miss it.
    return schema.FileEditToolCallContent(type="diff", path=str(path), old_text=old or "", new_text=new)


def progress(call: CallView) -> schema.ContentToolCallContent:
    parts = [call.message] if call.message else []
    if call.total is not None:
        parts.append(f"({call.progress or 0:g} of {call.total:g})")
    elif call.progress:
        parts.append(f"({call.progress:g})")
    log = "\n".join(line.text for line in call.log[-_NEWEST:])
    output = "\n".join(call.output.plain_lines(_NEWEST)) if call.output is not None else ""
    return content("\n".join(filter(None, (log, output, " ".join(parts)))))


def ending(call: CallView, diffs: Contents) -> dict[str, Any]:
    """Return the fields that end a tool call. A stored call without a verdict has failed."""
    whole = results.shown_text(call) or call.error or ""
    cut = len(whole) - LONGEST_OUTPUT
    said = f"{whole[:LONGEST_OUTPUT]}\n[{cut:,} more characters]" if cut > 0 else whole
    yours = f"{call_description.in_words(call).capitalize()}:" if call.by_user else ""
    files = [_link(one) for one in call.artifacts if one.path or one.uri]
    return {
        "status": "completed" if call.by_user or (call.verdict is not None and call.verdict.is_good) else "failed",
        "content": [*diffs, *([content(yours)] if yours else []), *([content(said)] if said else []), *files],
        "field_meta": {"fanout/verdict": call.verdict.word.value} if call.verdict is not None else None,
        "raw_output": call.structured if len(json.dumps(call.structured)) <= LONGEST_OUTPUT else None,
    }


def _link(artifact: Artifact) -> schema.ContentToolCallContent:
    uri = Path(artifact.path).absolute().as_uri() if artifact.path else artifact.uri
    name = one_line(artifact.name, 200)
    link = schema.ResourceContentBlock(
        type="resource_link", name=name, uri=uri, mime_type=artifact.mime, size=artifact.size
    )
    return schema.ContentToolCallContent(type="content", content=link)
