"""Finds the tool that does the work of one that a model knows from elsewhere, as `bash`, by the words of both names: so
any server that runs commands or reads files is found. The model is told the name, and calls it itself."""

from __future__ import annotations

import re
from collections.abc import Mapping

from console_app.domain import ToolSpec

# What can be done, by the words of names that ask for it, and by those of tools that do it; the surest first.
_WORK: tuple[tuple[frozenset[str], tuple[str, ...]], ...] = (
    (frozenset({"patch"}), ("apply_patch", "patch", "edit")),
    (frozenset({"task", "agent", "subagent", "delegate"}), ("agent", "task")),
    (frozenset({"fetch", "webfetch", "browse", "url", "curl", "http"}), ("fetch", "read_page", "page")),
    (frozenset({"websearch", "web"}), ("search_web", "web_search", "search", "fetch")),
    (frozenset({"todo", "todos", "todowrite"}), ("update_todo_list", "todo")),
    (frozenset({"skill"}), ("skill",)),
    (
        frozenset({"edit", "multiedit", "replace", "str", "strreplace", "editor", "insert"}),
        ("edit", "replace", "write"),
    ),
    (frozenset({"write", "create", "save"}), ("write", "create")),
    (frozenset({"grep", "rg", "ripgrep", "search", "find"}), ("search", "grep", "find")),
    (frozenset({"ls", "list", "glob", "dir", "tree"}), ("list", "glob", "ls", "search")),
    (frozenset({"read", "view", "cat", "open", "head"}), ("read", "view", "open")),
    (frozenset({"bash", "sh", "zsh", "shell", "terminal", "powershell", "console"}), ("run", "shell", "bash", "exec")),
    (frozenset({"exec", "execute", "run", "command", "cmd"}), ("run", "exec", "execute", "command", "shell")),
)
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_LONGEST = 100  # characters of a name


def tool_for(name: str, specs: Mapping[str, ToolSpec]) -> str:
    """Return the wire name of the tool that does what `name` would do elsewhere; "" where none is known to."""
    asked = _words(name[:_LONGEST])
    for meant, does in _WORK:
        if not asked & meant:
            continue
        for word in does:
            whole = frozenset(word.split("_"))
            fits = [wire for wire, spec in specs.items() if whole <= _words(spec.tool)]
            if fits:  # the plainest name of those that have the word
                return min(fits, key=lambda wire: (len(specs[wire].tool), wire))
    return ""


def _words(name: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _WORDS.findall(name))
