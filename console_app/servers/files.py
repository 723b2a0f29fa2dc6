"""A server for files: list, read and search; write and edit. Run it as `python -m console_app.servers.files`.

It works inside the client's roots alone, or without any inside the folder it was started in.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from console_app.servers.parts import file_reading, file_writing
from console_app.servers.parts.file_writing import EditError, FileJournal, read_patch
from console_app.servers.parts.folders import FolderEntry, allowed_folders, quoted
from console_app.servers.parts.server import (
    READS,
    Arguments,
    CallContext,
    StdioServer,
    Tool,
    ToolFailedError,
    ToolOutput,
    counted,
    schema,
)

MOST_MATCHES = 200
LONGEST_SEARCH = 60  # seconds
_SEARCHER = Path(__file__).parent / "parts" / "file_search.py"
MOST_CONTEXT = 10  # lines around a match
LARGEST_PICTURE = 4_000_000  # bytes
_PICTURES = {b"\x89PNG\r\n": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif", b"RIFF": "image/webp"}
_journal = FileJournal()
_locks: WeakValueDictionary[Path, asyncio.Lock] = WeakValueDictionary()


@asynccontextmanager
async def _in_order(*places: FolderEntry) -> AsyncGenerator[None]:
    """Calls that read or change a file are done one after the other, as they came."""
    async with AsyncExitStack() as stack:
        for path in sorted({place.path for place in places}):
            lock = _locks.setdefault(path, asyncio.Lock())
            await stack.enter_async_context(lock)
        yield


async def _place(arguments: Arguments, context: CallContext) -> FolderEntry:
    return (await allowed_folders(context)).place(arguments.get("path", "."))


async def list_directory(arguments: Arguments, context: CallContext) -> str:
    return await asyncio.to_thread(file_reading.list_entries, await _place(arguments, context))


async def read_file(arguments: Arguments, context: CallContext) -> ToolOutput:
    place = await _place(arguments, context)
    offset, limit = arguments.get("offset", 1), arguments.get("limit", file_reading.MOST_LINES)
    async with _in_order(place):
        return await asyncio.to_thread(_read, place, offset, limit)


def _read(place: FolderEntry, offset: int, limit: int) -> ToolOutput:
    with place.file() as file:
        data = file.read(LARGEST_PICTURE + 1)
    mime = next((kind for start, kind in _PICTURES.items() if data.startswith(start)), "")
    is_picture = file_reading.is_binary(data[:8192]) and (mime != "image/webp" or data[8:12] == b"WEBP")
    if mime and is_picture and len(data) <= LARGEST_PICTURE:
        block = {"type": "image", "mimeType": mime, "data": base64.b64encode(data).decode("ascii")}
        return ToolOutput(f"{place.written}: {mime}, {len(data):,} bytes.", None, (block,))
    text = file_reading.read_excerpt(place, offset, limit)
    _journal.read(place)
    return ToolOutput(text)


async def write_file(arguments: Arguments, context: CallContext) -> ToolOutput:
    place = await _place(arguments, context)
    async with _in_order(place):
        return await asyncio.to_thread(file_writing.write_text, place, arguments["content"], _journal)


async def edit_file(arguments: Arguments, context: CallContext) -> ToolOutput:
    place = await _place(arguments, context)
    old, new, every = arguments["old_text"], arguments["new_text"], arguments.get("replace_all", False)
    async with _in_order(place):
        return await asyncio.to_thread(file_writing.edit_text, place, old, new, _journal, every=every)


async def apply_patch(arguments: Arguments, context: CallContext) -> ToolOutput:
    try:
        files = read_patch(arguments["patch"])
    except EditError as error:
        raise ToolFailedError(str(error)) from error
    folders = await allowed_folders(context)
    places = {path: folders.place(path) for file in files for path in (file.path, file.move) if path}
    async with _in_order(*places.values()):
        return await asyncio.to_thread(file_writing.apply_patch, places, files, _journal)


async def search_files(arguments: Arguments, context: CallContext) -> str:
    request: dict[str, Any] = {
        "query": arguments.get("query", ""),
        "glob": arguments.get("glob", ""),
        "regex": arguments.get("regex", False),
        "ignore_case": arguments.get("ignore_case", False),
        "context": max(0, min(arguments.get("context", 0), MOST_CONTEXT)),
        "ignored": arguments.get("ignored", False),
        "most": max(1, min(arguments.get("max_results", 100), MOST_MATCHES)),
        "seconds": max(0.1, min(arguments.get("seconds", 10), LONGEST_SEARCH)),
    }
    if not request["query"] and not request["glob"]:
        raise ToolFailedError("search_files: give a `query` to look for, or a `glob` to find files by name.")
    if request["regex"]:
        try:
            re.compile(request["query"])
        except (re.error, OverflowError, RecursionError) as error:
            raise ToolFailedError(f"search_files: not a regular expression: {error}.") from error
    place = await _place(arguments, context)
    return _found(*await _search(place, request), request)


async def _search(place: FolderEntry, request: dict[str, Any]) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
    """Return what the searching program found, and its account of it: None when the time was up."""
    with place.folder() as folder:
        program = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", str(_SEARCHER), str(folder)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=(folder,),
        )
    answers: list[dict[str, Any]] = []
    try:
        assert program.stdin is not None
        assert program.stdout is not None
        program.stdin.write(json.dumps(request).encode() + b"\n")
        async for line in program.stdout:
            answers.append(json.loads(line))
        await program.wait()
    finally:
        if program.returncode is None:  # cancelled
            program.kill()
            await program.wait()
    return (answers[:-1], answers[-1]) if answers and "files" in answers[-1] else (answers, None)


def _found(matches: list[dict[str, Any]], account: dict[str, Any] | None, request: dict[str, Any]) -> str:
    lines: list[str] = []
    for match in matches:
        path = quoted(match["path"])
        if "line" not in match:
            lines.append(path)
            continue
        lines += ["--"] if request["context"] and lines else []
        lines += [f"{path}-{number}- {text}" for number, text in match.get("before", ())]
        lines.append(f"{path}:{match['line']}: {match['text']}")
        lines += [f"{path}-{number}- {text}" for number, text in match.get("after", ())]
    if account is None:
        lines.append(f"[stopped after {request['seconds']:g} s: this is what was found so far]")
    elif account["more"]:
        lines.append(f"[the first {len(matches)}; there are more: narrow the search, or raise max_results]")
    elif not matches:
        skipped = f", {account['skipped']:,} passed over as binary, too large or unreadable"
        return f"Nothing found in {counted(account['files'], 'file')}{skipped if account['skipped'] else ''}."
    return "\n".join(lines)


_CHANGES = {"readOnlyHint": False, "destructiveHint": True, "openWorldHint": False}
_PATH = schema("string", "Path inside the allowed folders, relative or absolute.")
_FOLDER = schema("string", "Path of the folder; the working folder by default.", default=".")

TOOLS = (
    Tool(
        list_directory,
        "Lists a folder: its folders first, then its files with their sizes.",
        {"path": _FOLDER},
        {"title": "List a folder", **READS},
    ),
    Tool(
        read_file,
        "Reads a text file, at most 2000 lines from line `offset` on, or shows a picture.",
        {
            "path": _PATH,
            "offset": schema("integer", "The first line; 1 by default.", minimum=1, default=1),
            "limit": schema("integer", "How many lines.", minimum=1, default=file_reading.MOST_LINES),
        },
        {"title": "Read a file", **READS},
    ),
    Tool(
        search_files,
        "Finds lines that hold a text or match a regular expression, in every text file under a folder; without a "
        "query, finds files by name. What .gitignore leaves out, links, .venv and node_modules are passed over.",
        {
            "query": schema("string", "The text, or a regular expression as Python writes it."),
            "path": _FOLDER,
            "glob": schema(
                "string", "Only files whose name fits, as `*.py`; with a slash their path, as `src/**/*.py`."
            ),
            "regex": schema("boolean", "`query` is a regular expression.", default=False),
            "ignore_case": schema("boolean", "Capitals don't matter.", default=False),
            "context": schema("integer", "Lines around each match.", minimum=0, default=0),
            "ignored": schema("boolean", "Also what .gitignore leaves out.", default=False),
            "max_results": schema("integer", minimum=1, maximum=MOST_MATCHES, default=100),
            "seconds": schema(
                "number", "How long it may take.", exclusiveMinimum=0, maximum=LONGEST_SEARCH, default=10
            ),
        },
        {"title": "Search files", **READS},
        optional=("query", "glob"),
    ),
    Tool(
        write_file,
        "Creates a text file, or replaces one whole. Folders that are missing are created.",
        {"path": _PATH, "content": schema("string", "The whole text of the file.")},
        {"title": "Write a file", **_CHANGES, "idempotentHint": True},
    ),
    Tool(
        edit_file,
        "Replaces a text in a file by another. `old_text` must match exactly and be there once, unless replace_all.",
        {
            "path": _PATH,
            "old_text": schema("string", "The text to replace, exactly as it is in the file."),
            "new_text": schema("string", "What takes its place."),
            "replace_all": schema("boolean", "Replace every place.", default=False),
        },
        {"title": "Edit a file", **_CHANGES, "idempotentHint": False},
    ),
    Tool(
        apply_patch,
        "Changes several files, or none if a part does not fit. `patch` is `*** Begin Patch`, then for each file "
        "`*** Update File: PATH` (or Add, Delete) with `@@` and lines after ` `, `-` or `+`, then `*** End Patch`.",
        {"patch": schema("string")},
        {"title": "Apply a patch", **_CHANGES, "idempotentHint": False},
    ),
)


if __name__ == "__main__":
    StdioServer("fanout-files", TOOLS).run()
