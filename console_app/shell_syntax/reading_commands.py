"""The commands that only read, and only in the working folder: mode `auto` runs them unasked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from console_app.shell_syntax.words import plain_words

_ANY: Final = re.compile(r"(?!)")
# The options that a program must not be given: they write, run another program, or read elsewhere.
_READS: Final[Mapping[str, re.Pattern[str]]] = {
    **dict.fromkeys(
        [
            "ls",
            "pwd",
            "echo",
            "cat",
            "head",
            "tail",
            "wc",
            "stat",
            "du",
            "df",
            "whoami",
            "id",
            "uname",
            "which",
            "basename",
            "dirname",
            "realpath",
            "readlink",
            "nl",
            "cut",
            "tr",
            "seq",
            "rev",
            "fold",
            "expand",
            "column",
            "diff",
            "cmp",
            "comm",
            "true",
            "false",
            "md5sum",
            "sha1sum",
            "sha256sum",
            "cksum",
            "od",
            "hexdump",
            "grep",
            "egrep",
            "fgrep",
            "jq",
            "tac",
            "paste",
        ],
        _ANY,
    ),
    "file": re.compile(r"--(?:c|m).*|-[a-zA-Z]*[Cm].*"),
    "date": re.compile(r"-[uR]*s.*|--s.*|[^+-].*"),
    "sort": re.compile(r"-[a-zA-Z]*[oT].*|--(?:o|c|t).*"),
    "tree": re.compile(r"-[a-zA-Z]*[oR].*|--output.*"),
    "uniq": re.compile(r"[^-].*"),
    "rg": re.compile(r"--pre.*|--hostname.*|-[a-zA-Z]*[fz].*|--(?:search-zip|file|ignore-file).*"),
    "find": re.compile(r"-(?:exec|ok|delete|fprint|fls|files0).*"),
}
_OF_GIT: Final[Mapping[str, re.Pattern[str]]] = {
    **dict.fromkeys(
        "status log diff show blame rev-parse ls-files describe shortlog rev-list ls-tree cat-file name-rev".split(),  # noqa: SIM905
        re.compile(r"--(?:ou|ext|textc|filters|no-i|h).*|-[oh].*"),
    ),
    "branch": re.compile(r"(?!(?:-a|-r|-v|-vv|-av|--list|--all|--remotes|--show-current)$).*", re.DOTALL),
    "tag": re.compile(r"(?!(?:-l|--list)$).*", re.DOTALL),
    "remote": re.compile(r"(?!(?:-v)$).*", re.DOTALL),
    "stash": re.compile(r"(?!(?:list)$).*", re.DOTALL),
}
_ELSEWHERE: Final = re.compile(r"^[/~]|^--?[\w-]*=?[/~]|[=:][/~]|(?:^|[/=:,])\.\.(?:[/,:]|$)")


def only_reads(command: str) -> bool:
    """Tell whether a command is known to change nothing, run nothing else and read only below where it runs."""
    argv = plain_words(command)
    if argv is None or any(_ELSEWHERE.search(word) for word in argv):
        return False
    name, *rest = argv
    if name == "git":
        refused = _OF_GIT.get(rest[0]) if rest else None
        rest = rest[1:]
        if refused is None or (argv[1] == "stash" and not rest):
            return False
    else:
        refused = _READS.get(name)
    return refused is not None and not any(refused.fullmatch(word) for word in rest)
