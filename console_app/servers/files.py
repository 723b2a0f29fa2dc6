"""A server for files: list, read and search; write and edit. Run it as `python -m console_app.servers.files`.

It works inside the client's roots alone, or without any inside the folder it was started in.
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from console_app.servers.parts import file_reading, file_writing
from console_app.servers.parts.folders import FolderEntry, allowed_folders
from console_app.servers.parts.server import Arguments, CallContext, StdioServer, Tool, ToolFailedError, counted

MOST_MATCHES = 200
LONGEST_SEARCH = 60  # seconds
_SEARCHER = Path(__file__).parent / "parts" / "file_search.py"
_writing = asyncio.Lock()  # edits of one file at the same time are made one after the other, and none is lost


async def _place(arguments: Arguments, context: CallContext) -> FolderEntry:
    return (await allowed_folders(context)).place(arguments.get("path", "."))


async def list_directory(arguments: Arguments, context: CallContext) -> str:
    """Return the entries of a folder."""
    return await asyncio.to_thread(file_reading.list_entries, await _place(arguments, context))


async def read_file(arguments: Arguments, context: CallContext) -> str:
    """Lines of a file."""
    place = await _place(arguments, context)
    offset, limit = arguments.get("offset", 1), arguments.get("limit", file_reading.MOST_LINES)
    return (await asyncio.to_thread(file_reading.read_excerpt, place, offset, limit)).shown()


async def write_file(arguments: Arguments, context: CallContext) -> str:
    """Create or replace a file."""
    place = await _place(arguments, context)
    async with _writing:
        return await asyncio.to_thread(file_writing.write_text, place, arguments["content"])


async def edit_file(arguments: Arguments, context: CallContext) -> str:
    """Replace text in a file."""
    place = await _place(arguments, context)
    old, new, every = arguments["old_text"], arguments["new_text"], arguments.get("replace_all", False)
    async with _writing:
        return await asyncio.to_thread(file_writing.edit_text, place, old, new, every=every)


async def search_files(arguments: Arguments, context: CallContext) -> str:
    """Matching lines, or files by name, as far as the time allows."""
    request: dict[str, Any] = {
        "query": arguments.get("query", ""),
        "glob": arguments.get("glob", ""),
        "regex": arguments.get("regex", False),
        "ignore_case": arguments.get("ignore_case", False),
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
        lines.append(f"{match['path']}:{match['line']}: {match['text']}" if "line" in match else match["path"])
    if account is None:
        lines.append(f"[stopped after {request['seconds']:g} s: this is what was found so far]")
    elif account["more"]:
        lines.append(f"[the first {len(matches)}; there are more: narrow the search, or raise max_results]")
    elif not matches:
        skipped = f", {account['skipped']:,} passed over as binary, too large or unreadable"
        return f"Nothing found in {counted(account['files'], 'file')}{skipped if account['skipped'] else ''}."
    return "\n".join(lines)


_READS = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}
_CHANGES = {"readOnlyHint": False, "destructiveHint": True, "openWorldHint": False}
_PATH = {"type": "string", "description": "Path inside the allowed folders, relative or absolute."}
_FOLDER = {"type": "string", "description": "Path of the folder; the working folder by default.", "default": "."}

TOOLS = (
    Tool(
        "list_directory",
        "Lists a folder: its folders first, then its files with their sizes.",
        list_directory,
        {"path": _FOLDER},
        (),
        {"title": "List a folder", **_READS},
    ),
    Tool(
        "read_file",
        "Reads a text file: at most 2000 lines at a time, from line `offset` on; says so where more follow.",
        read_file,
        {
            "path": _PATH,
            "offset": {"type": "integer", "description": "The first line; 1 by default.", "minimum": 1, "default": 1},
            "limit": {
                "type": "integer",
                "description": "How many lines.",
                "minimum": 1,
                "default": file_reading.MOST_LINES,
            },
        },
        ("path",),
        {"title": "Read a file", **_READS},
    ),
    Tool(
        "search_files",
        "Finds lines that hold a text or match a regular expression, in every text file under a folder; without a "
        "query, finds files by name. Links, .git, .venv, node_modules and __pycache__ are left out.",
        search_files,
        {
            "query": {"type": "string", "description": "The text, or a regular expression as Python writes it."},
            "path": _FOLDER,
            "glob": {
                "type": "string",
                "description": "Only files whose name fits, as `*.py`; with a slash their path, as `src/**/*.py`.",
            },
            "regex": {"type": "boolean", "description": "`query` is a regular expression.", "default": False},
            "ignore_case": {"type": "boolean", "description": "Capitals don't matter.", "default": False},
            "max_results": {"type": "integer", "minimum": 1, "maximum": MOST_MATCHES, "default": 100},
            "seconds": {
                "type": "number",
                "description": "How long it may take.",
                "exclusiveMinimum": 0,
                "maximum": LONGEST_SEARCH,
                "default": 10,
            },
        },
        (),
        {"title": "Search files", **_READS},
    ),
    Tool(
        "write_file",
        "Creates a text file, or replaces one whole. Folders that are missing are created.",
        write_file,
        {"path": _PATH, "content": {"type": "string", "description": "The whole text of the file."}},
        ("path", "content"),
        {"title": "Write a file", **_CHANGES, "idempotentHint": True},
    ),
    Tool(
        "edit_file",
        "Replaces a text in a file by another. `old_text` must match exactly and be there once, unless replace_all.",
        edit_file,
        {
            "path": _PATH,
            "old_text": {"type": "string", "description": "The text to replace, exactly as it is in the file."},
            "new_text": {"type": "string", "description": "What takes its place."},
            "replace_all": {"type": "boolean", "description": "Replace every place.", "default": False},
        },
        ("path", "old_text", "new_text"),
        {"title": "Edit a file", **_CHANGES, "idempotentHint": False},
    ),
)


def main() -> None:
    """Serve the tools over stdin and stdout until stdin ends."""
    StdioServer("fanout-files", TOOLS).run()


if __name__ == "__main__":
    main()
