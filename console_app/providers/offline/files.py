"""The rule for files: reads, lists and searches them with whatever file server is on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from console_app.providers.offline.rule import (
    AND,
    QUOTED,
    AnswerRule,
    AskedPrompt,
    Match,
    OfflineTools,
    RuleFinding,
    missing,
    unquoted,
)

_FILE = r"[\"'`]?(?:[\w.~-]*/)*(?:[\w-][\w.-]*\.[A-Za-z]\w{0,7}|README|LICENSE|Makefile|Dockerfile)\b[\"'`]?"
_READ = re.compile(
    r"\b(?:read|open|show|cat|print|display)\s+(?:me\s+)?(?:the\s+)?(?:contents?\s+of\s+)?(?:the\s+)?(?:files?\s+)?"
    rf"({_FILE}(?:{AND}(?:the\s+)?(?:file\s+)?{_FILE})*)",
    re.IGNORECASE,
)
_NAME = re.compile(_FILE)
_FOLDER = rf"({QUOTED}|[\w.~-]*/[\w./~-]*|[\w.-]+(?=\s+(?:folder|directory)\b))"
_LIST = re.compile(
    r"\b(?:list|show(?:\s+me)?|what(?:'s|\s+are|\s+is)?)\s+(?:all\s+)?(?:the\s+|of\s+the\s+|my\s+)?"
    r"(?:files|contents?|directory|folder|in\s+(?:this|the)\s+(?:folder|directory))\b"
    rf"(?:\s+(?:are\s+)?(?:in|of|under)\s+(?:the\s+)?(?:folder\s+|directory\s+)?{_FOLDER})?",
    re.IGNORECASE,
)
_SEARCH = re.compile(
    rf"\b(?:search|grep|look)\s+(?:in\s+)?(?:the\s+|my\s+|all\s+)*files\s+for\s+({QUOTED}|\S+)"
    rf"|\b(?:find|search\s+for)\s+({QUOTED}|\S+)\s+in\s+(?:the\s+|my\s+|all\s+)*files\b",
    re.IGNORECASE,
)
_PATHS = ("path", "file_path", "file", "filename", "file_name")
_FOLDERS = ("path", "directory", "dir", "folder")
_HERE = frozenset({"", "this", "current", "working", "my"})  # in “list the files in this folder”


def _reader(tools: OfflineTools) -> Match | None:
    return tools.find(("read_file", "read_text_file", "read", "cat"), path=_PATHS)


def _lister(tools: OfflineTools) -> Match | None:
    return tools.find(("list_files", "list_directory", "list_dir", "list", "ls"), maybe_path=_FOLDERS)


def _searcher(tools: OfflineTools) -> Match | None:
    return tools.find(("search_files", "grep", "search_text"), what=("query", "text", "pattern"), maybe_path=_FOLDERS)


def _reads(asked: AskedPrompt, tools: OfflineTools) -> Iterator[RuleFinding]:
    for found in _READ.finditer(asked.text):
        paths = [name.strip("\"'`") for name in _NAME.findall(found[1])]
        if tool := _reader(tools):
            yield RuleFinding(found.span(), tuple(tool.call(path=path) for path in paths))
        else:
            yield missing(found.span(), f"read `{', '.join(paths)}`", "files.read_file")


def _lists(asked: AskedPrompt, tools: OfflineTools) -> Iterator[RuleFinding]:
    for found in _LIST.finditer(asked.text):
        tool = _lister(tools)
        if tool is None:
            yield missing(found.span(), "list files", "files.list_directory")
            continue
        folder = unquoted(found[1] or "")
        path = "." if folder.lower() in _HERE else folder
        yield RuleFinding(found.span(), (tool.call(path=path),))


def _searches(asked: AskedPrompt, tools: OfflineTools) -> Iterator[RuleFinding]:
    for found in _SEARCH.finditer(asked.text):
        tool = _searcher(tools)
        if tool is None:
            yield missing(found.span(), "search files", "files.search_files")
            continue
        call = tool.call(what=unquoted(found[1] or found[2]), path=".")
        yield RuleFinding(found.span(), (call,))


def _read(asked: AskedPrompt, tools: OfflineTools) -> Iterator[RuleFinding]:
    return chain(_reads(asked, tools), _lists(asked, tools), _searches(asked, tools))


FILES = AnswerRule(
    can="read, list and search files: `read README.md and list the files in docs/`",
    able=lambda tools: (_reader(tools) or _lister(tools)) is not None,
    read=_read,
)
