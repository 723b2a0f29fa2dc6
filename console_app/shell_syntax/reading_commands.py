"""The commands that only read, and only in the working folder: mode `auto` runs them unasked.

A path is judged by where it leads, and git by what the repository's configuration has it run.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from console_app.shell_syntax.words import plain_words

_ANY: Final = re.compile(r"(?!)")
_CHECKS: Final = re.compile(r"-[a-z]*c.*|--c.*")
# The options that a program must not be given: they write, run another program, follow links or read names of files.
_READS: Final[Mapping[str, re.Pattern[str]]] = {
    **dict.fromkeys(
        "pwd echo cat head tail stat df whoami id uname which basename dirname realpath readlink nl cut tr seq rev "  # noqa: SIM905
        "fold expand column cmp comm true false od hexdump tac paste".split(),
        _ANY,
    ),
    **dict.fromkeys(("md5sum", "sha1sum", "sha256sum", "cksum"), _CHECKS),
    **dict.fromkeys(("grep", "egrep", "fgrep"), re.compile(r"-[a-zA-Z]*R.*|--d.*")),
    "ls": re.compile(r"-[a-zA-Z]*[LH].*|--de.*"),
    "wc": re.compile(r"--f.*"),
    "du": re.compile(r"-[a-zA-Z]*[LDHX].*|--(?:de|f|exclude-).*"),
    "diff": re.compile(r"-[a-zA-Z]*[lr].*|--(?:p|rec).*"),
    "jq": re.compile(r"-[a-zA-Z]*[fL].*|--(?:from|lib).*|(?s:.*(?:import|include|env|ENV).*)"),
    "file": re.compile(r"--(?:c|m|f|unc).*|-[a-zA-Z]*[CmfzZ].*"),
    "date": re.compile(r"-[uR]*s.*|--s.*|[^+-].*"),
    "sort": re.compile(r"-[a-zA-Z]*[oT].*|--(?:o|c|t|f).*"),
    "tree": re.compile(r"-[a-zA-Z]*[loR].*|--(?:output|fromfile|gitfile|infofile).*"),
    "uniq": re.compile(r"[^-].*"),
    "rg": re.compile(r"-[a-zA-Z]*[fzL].*|--(?:pre|hostname|search-zip|file|ignore-file|follow).*"),
    "find": re.compile(r"-(?:exec|ok|delete|fprint|fls|files0|L|H|follow).*"),
}
_OF_GIT: Final[Mapping[str, re.Pattern[str]]] = {
    **dict.fromkeys(
        "status log diff show blame rev-parse ls-files describe shortlog rev-list ls-tree cat-file name-rev".split(),  # noqa: SIM905
        re.compile(r"--(?:ou|ext|textc|filters|no-i|h|show-sig).*|-[oh].*"),
    ),
    "branch": re.compile(r"(?!(?:-a|-r|-v|-vv|-av|--list|--all|--remotes|--show-current)$).*", re.DOTALL),
    "tag": re.compile(r"(?!(?:-l|--list)$).*", re.DOTALL),
    "remote": re.compile(r"(?!(?:-v)$).*", re.DOTALL),
    "stash": re.compile(r"(?!(?:list)$).*", re.DOTALL),
}
_ELSEWHERE: Final = re.compile(r"^[/~]|^--?[\w-]*=?[/~]|[=:][/~]|(?:^|[/=:,])\.\.(?:[/,:]|$)")
# Of a repository's configuration: names of programs that reading runs, and of other places to read.
_NAMES_PROGRAMS: Final = re.compile(
    r"\b(?:textconv|external|command|clean|smudge|process|program|showsignature|fsmonitor|path|worktreeconfig|"
    r"alternaterefscommand)[ \t]*(?:=|$)",
    re.IGNORECASE | re.MULTILINE,
)
_WORKTREE: Final = re.compile(r"worktree[ \t]*=(?:[ \t]*([\w./-]+)$)?", re.IGNORECASE | re.MULTILINE)
_HOOKS: Final = re.compile(r'hookspath\s*=\s*"?([^"\n#;]+)', re.IGNORECASE)
_ON_READING: Final = "post-index-change"  # the hook that `git status` runs
_LARGEST: Final = 100_000  # characters of a configuration
_MOST_FOLDERS: Final = 1000  # of submodules that are looked into


def only_reads(command: str, root: str, cwd: str) -> bool:
    """Tell whether a command is known to change nothing, run nothing else and read only below its working folder.

    `root` is that folder, "" for the current one, and `cwd` is where in it the command runs.
    """
    argv = plain_words(command)
    if argv is None or any(_ELSEWHERE.search(word) for word in (cwd, *argv)):
        return False
    name, *rest = argv
    top = os.path.realpath(root or os.curdir)
    folder = os.path.join(top, cwd)
    if not _is_in(top, folder) or _is_of(top, folder, name):
        return False
    for path in (path for word in rest for path in _paths(word)):
        if os.path.lexists(os.path.join(folder, path.partition("/")[0])) and not _is_in(
            top, os.path.join(folder, path)
        ):
            return False
    if name == "git":
        refused = _OF_GIT.get(rest[0]) if rest else None
        rest = rest[1:]
        if refused is None or (argv[1] == "stash" and not rest) or _runs_programs(Path(folder)):
            return False
    else:
        refused = _READS.get(name)
    return refused is not None and not any(refused.fullmatch(word) for word in rest)


def _paths(word: str) -> Iterator[str]:
    """Yield what of a word may be a path: all of it, what is behind a sign, and behind letters of options."""
    yield word
    yield from re.split(r"[=:,]", word)[1:]
    if word.startswith("-"):
        yield from (word[at:] for at in range(2, min(len(word), 8)))


def _is_in(top: str, path: str) -> bool:
    real = os.path.realpath(path)
    return real == top or real.startswith(os.path.join(top, ""))


def _is_of(top: str, folder: str, program: str) -> bool:
    """Tell whether a program of the working folder itself would run under this name."""
    for place in os.environ.get("PATH", "").split(os.pathsep):
        if os.path.lexists(path := os.path.join(folder, place, program)):
            return os.path.abspath(path).startswith(os.path.join(top, ""))
    return False


def _runs_programs(folder: Path) -> bool:
    """Tell whether the repository that git finds from here may have it run a program, or read another place."""
    above = next((one for one in (folder, *folder.parents) if os.path.lexists(one / ".git") or _is_bare(one)), None)
    if above is None:
        return False
    try:
        git = above / ".git"
        if git.is_file():
            git = above / _text(git).removeprefix("gitdir:").strip()
            git /= _text(git / "commondir").strip()
        return not git.is_dir() or any(map(partial(_names_programs, above), _configurations(git)))
    except (OSError, ValueError):
        return True


def _is_bare(folder: Path) -> bool:
    return all((folder / name).exists() for name in ("HEAD", "objects", "refs"))


def _configurations(git: Path) -> Iterator[Path]:
    """Yield the configuration of a repository and those of its submodules."""
    yield git / "config"
    for count, (folder, folders, names) in enumerate(os.walk(git / "modules")):
        if count > _MOST_FOLDERS:
            raise ValueError
        if "config" in names:
            yield Path(folder, "config")
            folders[:] = [name for name in folders if name == "modules"]


def _names_programs(top: Path, config: Path) -> bool:
    text = _text(config)
    trees = [os.path.join(config.parent, path or "/") for path in _WORKTREE.findall(text)]
    hooks = [config.parent / "hooks", *(top / name.strip() for name in _HOOKS.findall(text))]
    leads_out = not all(_is_in(os.path.realpath(top), path) for path in trees)
    return bool(_NAMES_PROGRAMS.search(text)) or leads_out or any((one / _ON_READING).exists() for one in hooks)


def _text(path: Path) -> str:
    """Return the text of a small file, "" where none is. Raises ValueError for a larger one."""
    if not path.is_file():
        return ""
    with path.open(encoding="utf-8", errors="replace") as file:
        if len(text := file.read(_LARGEST)) == _LARGEST:
            raise ValueError
    return text
