"""The words of one plain command, as bash will pass them on: by tree-sitter's tree, with shlex as a second opinion.

Plain means that nothing is run, expanded or redirected on the way: one command of words, numbers and quotations without
a `$`, a backslash, a glob or a brace. Everything else has no words here.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

LONGEST: Final = 20_000  # characters of a command that is looked into
_SPECIAL: Final = r"\s\\$`'\"*?\[\]{}()<>|&;!"
_BARE: Final = re.compile(rf"[^{_SPECIAL}~#^][^{_SPECIAL}]*")
_TILDE: Final = re.compile(r"[=:]~")  # expanded by bash in what looks like an assignment
_SPACE: Final = re.compile(r"[ \t]+")


@cache
def _parser() -> Parser:
    from tree_sitter import Language, Parser  # 40 ms with the grammar
    from tree_sitter_bash import language

    return Parser(Language(language()))


def tree(command: str) -> Node | None:
    """Return the root of the tree, None for what is not understood whole."""
    if len(command) > LONGEST or any(not _is_plain(character) for character in command):
        return None
    try:
        root = _parser().parse(command.encode()).root_node
    except (UnicodeEncodeError, ValueError):
        return None
    return None if root.has_error else root


def _is_plain(character: str) -> bool:
    return character in "\t\n " or (character > " " and character != "\x7f" and not character.isspace())


@lru_cache(maxsize=256)
def plain_words(command: str) -> Sequence[str] | None:
    """Return the words of a command, its name first; None where it is more than one plain command."""
    root = tree(command)
    if root is None or len(root.children) != 1 or (one := root.children[0]).type != "command":
        return None
    source = command.encode()
    if source[: one.start_byte].strip(b" \t\n") or source[one.end_byte :].strip(b" \t\n"):
        return None
    words: list[str] = []
    end = one.start_byte
    for child in one.children:
        between = source[end : child.start_byte].decode()
        if (between and not _SPACE.fullmatch(between)) or (not between and words):
            return None
        node = child.children[0] if child.type == "command_name" and len(child.children) == 1 else child
        if (word := _word(node, source)) is None:
            return None
        words.append(word)
        end = child.end_byte
    try:
        second = shlex.split(command)
    except ValueError:
        return None
    return tuple(words) if words and words == second and "=" not in words[0] else None


def _word(node: Node, source: bytes) -> str | None:
    """Return the text that a node stands for, None where bash might make another of it."""
    text = source[node.start_byte : node.end_byte].decode()
    match node.type:
        case "word" | "number":
            return text if _BARE.fullmatch(text) and not _TILDE.search(text) else None
        case "raw_string":
            return text[1:-1]
        case "string":
            inside = text[1:-1]
            held = all(child.type in ('"', "string_content") for child in node.children)
            return inside if held and not re.search(r"[\\$`]", inside) else None
        case "concatenation":
            parts = [_word(child, source) for child in node.children]
            whole = "".join(part for part in parts if part is not None)
            at = [child.start_byte for child in node.children[1:]] == [child.end_byte for child in node.children[:-1]]
            return whole if at and None not in parts else None
        case _:
            return None


def commands(root: Node, command: str) -> Iterator[tuple[tuple[str | None, ...], str | None]]:
    """Yield the words of every command below a root, and the text that is its input, None without one.

    A word that can't be told before it runs is None; in a text a line with such a word stands for it. What a variable
    is set to for one command counts as a word of `env`.
    """
    source = command.encode()
    waiting = [root]
    while waiting:
        node = waiting.pop()
        waiting += node.children
        if node.type == "command":
            above = node.parent.children if node.parent and node.parent.type == "redirected_statement" else []
            texts = [text for one in (*node.children, *above) if (text := _input(one, source)) is not None]
            words = tuple(_told(one, source) for one in node.children if one.type not in _BESIDE)
            yield words, "\n".join(texts) if texts else None
            values = [one.children[-1] for one in node.children if one.type == "variable_assignment" and one.children]
            for told in (_told(one, source) for one in values):
                if told is not None:
                    yield ("env", told), None
        elif node.type in ("declaration_command", "unset_command", "test_command"):
            yield (source[node.start_byte : node.end_byte].decode().split(maxsplit=1)[0],), None


def _input(node: Node, source: bytes) -> str | None:
    """Return the text of a here-document or a here-string."""
    if node.type == "herestring_redirect":
        return _told(node.children[-1], source) or "$_"
    for one in node.children if node.type == "heredoc_redirect" else ():
        if one.type == "heredoc_body":
            text = source[one.start_byte : one.end_byte].decode()
            return f"{text}\n$_" if one.children else text
    return None


_BESIDE: Final = ("variable_assignment", "file_redirect", "herestring_redirect", "heredoc_redirect")


def _told(node: Node, source: bytes) -> str | None:
    if node.type == "command_name" and len(node.children) == 1:
        node = node.children[0]
    word = _word(node, source)
    if word is None and node.type in ("word", "string", "concatenation"):
        text = source[node.start_byte : node.end_byte].decode()
        if not re.search(r"[$`{}*?\[\]~]", text.replace("{}", "")):  # which bash leaves as it is
            try:
                word = "".join(shlex.split(text.replace("\\\n", "")))
            except ValueError:
                return None
    return word
