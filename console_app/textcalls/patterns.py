"""Regular expressions made from lists of literal tokens, by way of a trie: hopeless starts are dropped at once."""

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, TypeAlias, cast

IDENT = r"\w[\w.\-]*"
_USES = ("match", "search", "fullmatch", "findall", "finditer", "split", "sub", "pattern")
_DEEPEST = 100  # characters of a literal of a trie: a server may name its parameters as it likes
_WAITING: "list[_Later]" = []


class _Later:
    """A regular expression that is compiled when it is first used; from then on as quick as any other."""

    def __init__(self, pattern: str | Callable[[], str], flags: int) -> None:
        self._pattern, self._flags = pattern, flags
        _WAITING.append(self)

    def __getattr__(self, use: str) -> Any:
        if use not in _USES:
            raise AttributeError(use)
        self.compiled()
        return self.__dict__[use]

    def compiled(self) -> None:
        made = re.compile(self._pattern if isinstance(self._pattern, str) else self._pattern(), self._flags)
        self.__dict__.update({name: getattr(made, name) for name in _USES})


def lazily(pattern: str | Callable[[], str], flags: int = 0) -> re.Pattern[str]:
    """A pattern of a module: together they take a tenth of a second, which no start of the program has to wait for."""
    return cast(re.Pattern[str], _Later(pattern, flags))


def prepare() -> None:
    """Compile what `lazily` made, which takes two tenths of a second: for a thread, before there is an answer."""
    while _WAITING:
        _WAITING.pop().compiled()


@lru_cache(maxsize=2048)
def compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.DOTALL)


@lru_cache(maxsize=64)
def first_of(*patterns: str) -> re.Pattern[str]:
    """Return a pattern of the first of several that matches, each a group without groups of its own."""
    return compiled("|".join(f"({unnamed(one)})" for one in patterns))


_Trie: TypeAlias = dict[str, "_Trie"]


def any_of(literals: Iterable[str]) -> str:
    return _any_of(tuple(literals))


@lru_cache(maxsize=512)
def _any_of(literals: tuple[str, ...]) -> str:
    long = sorted((one for one in literals if len(one) > _DEEPEST), key=len, reverse=True)
    short = _alternatives(_trie(one for one in literals if len(one) <= _DEEPEST))
    return f"(?:{'|'.join((*map(re.escape, long), *([short] if short else ())))})" if long else short


def unnamed(pattern: str) -> str:
    """Return a pattern without the names of its groups, to be used beside itself."""
    return re.sub(r"\(\?P<\w+>", "(?:", re.sub(r"\(\?P=\w+\)", r"[\\w.-]+", pattern))


def partly(literals: Iterable[str]) -> str:
    """A pattern that matches every proper beginning of the literals (not the empty one)."""
    return any_of({literal[:end] for literal in literals for end in range(1, len(literal))})


def held_back(literals: Iterable[str]) -> str:
    """A pattern that finds, at the very end of a text, what may still become one of the literals."""
    return _tails(_trie(literals))


def lead_word(literal: str) -> str:
    """Return what to look for where a literal may begin: a rare character, or of letters the literal itself."""
    return literal if literal[0].isalpha() or literal[0] in " ~>*" else literal[0]


def _trie(literals: Iterable[str]) -> _Trie:
    root: _Trie = {}
    for literal in literals:
        node = root
        for char in literal:
            node = node.setdefault(char, {})
        node[""] = {}
    return root


def _alternatives(node: _Trie) -> str:
    branches: list[str] = []
    for char, child in node.items():
        if char:
            rest = _alternatives(child)
            branches.append(re.escape(char) + (f"(?:{rest})?" if rest and "" in child else rest))
    return branches[0] if len(branches) == 1 else f"(?:{'|'.join(branches)})" if branches else ""


def _tails(node: _Trie) -> str:
    branches = [
        re.escape(char) + (rf"(?:\Z|{_tails(child)})" if set(child) - {""} else "")
        for char, child in node.items()
        if char and set(child) - {""}
    ]
    return f"(?:{'|'.join(branches)})" if branches else r"(?!)"


def tag(opening: str, attribute: str, group: str, end: str = ">", **others: str) -> str:
    """Return a pattern of a tag with attributes in any order: the value of `attribute` is matched as `group`; those of
    `others`, which may be missing, as groups of their names."""
    value = r"[^\s\"'<>]++(?:\s++(?![\w:.-]+\s*=)[^\s\"'<>]++)*+"  # with no run of blanks that is gone through twice
    needed = rf"\s{attribute}\s*=\s*+[\"']?\s*+(?P<{group}>{value})\s*+[\"']?\s*+(?:(?<=\s)[\w:.-]+\s*=|{end})"
    more = "".join(rf"(?:(?=[^<>]*?\s{name}\s*=\s*[\"'](?P<{name}>{value})[\"'])|)" for name, value in others.items())
    return rf"{opening}(?=[^<>]*?{needed}){more}\s[^<>]*{end}"


def label(*words: str) -> str:
    """Return a pattern for a label and its colon: in capitals, bold, numbered, or with a space before the colon."""
    written = rf"(?:{'|'.join((*words, *(word.upper() for word in words)))})(?:[ _]?#?\d{{1,3}})?"
    return rf"(?:{written}[ \t]?:|\*\*{written}(?::\*\*|\*\*[ \t]?:))"


ACTION = label("Action", "Tool Call")
ACTION_INPUT = label("Action Input")
