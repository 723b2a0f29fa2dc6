"""Markdown that grows: blocks that are complete are laid out once, and only the open tail is parsed again.

Complete are all top-level blocks but the last, which nothing written later can change (link definitions aside: those
are resolved when the text ends). An open code fence is not parsed at all but taken in line by line. Painting asks for
lines once a frame, so a burst of tokens costs one parse.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from console_app.conversation.copies import parser
from console_app.tui.transcript_view.code import Code
from console_app.tui.transcript_view.markdown_cut import cut_after, table_head
from console_app.tui.transcript_view.markdown_rows import (
    MIN_WIDTH,
    MarkdownRows,
    code_head,
    code_rows,
    language_of,
)
from console_app.tui.transcript_view.markdown_tail import mend
from console_app.tui.widgets.lines import Line, Row, clean, wrap
from console_app.tui.widgets.palette import Palette

Frame = Callable[[Row], Line]  # gives a row its place on screen
SLICE = 1500  # characters that are taken in at once where there are more: some 10 ms
LONG_LIST = 2000  # characters of a list beyond which its complete items are laid out for good
_DEFINITION = re.compile(r"^[ \t>*+\-\d.)]*\[[^\]\n]+\]:", re.MULTILINE)
_FENCE = re.compile(r"( {0,3})(`{3,}|~{3,})(.*)\Z", re.DOTALL)


class _Blocks:
    """Complete blocks: their source, and their rows for the newest width and palette."""

    def __init__(self, source: str, number: int | None = None, *, tight: bool = False) -> None:
        self.source = source
        self.number = number  # of its first item, when it goes on with a list
        self.tight = tight  # whether it follows the part before without an empty line
        self._lines: list[Line] | None = None
        self._key: object = None

    def lines(self, width: int, palette: Palette, frame: Frame, key: object, references: dict[str, Any]) -> list[Line]:
        if self._lines is None or key != self._key:
            tokens = parser().parse(self.source, {"references": dict(references)})
            self._lines = [frame(row) for row in MarkdownRows(width, palette, self.number).render(tokens)]
            self._key = key
        return self._lines

    def forget(self) -> None:
        self._lines = None


class _Fence:
    """A top-level code fence, taken in line by line."""

    tight = False

    def __init__(self, indent: int, marker: str, info: str) -> None:
        self._indent = indent
        self._closing = re.compile(rf" {{0,3}}{re.escape(marker[0])}{{{len(marker)},}}[ \t]*\Z")
        self._marks = marker[0]
        self._code = Code(language_of(info))
        self._lines: list[list[Line]] = []
        self._key: object = None
        self._open: list[Line] = []
        self._open_key: object = None
        self.closed = False

    def take(self, text: str, final: bool) -> str:
        """Takes in what belongs to the fence and returns the rest: "" or what stands behind the closing line."""
        lines = text.split("\n")
        rest = lines.pop()
        for number, line in enumerate(lines):
            if self._closing.match(line):
                self._code.add([self._strip(kept) for kept in lines[:number]])
                self._code.tail = ""
                self.closed = True
                return "\n".join([*lines[number + 1 :], rest])
        self._code.add([self._strip(line) for line in lines])
        if final and self._closing.match(rest):
            self.closed, rest = True, ""
        self._code.tail = "" if not final and not rest.strip(f" {self._marks}") else self._strip(rest)
        if final and rest:
            self._code.add([self._strip(rest)])
            self._code.tail = rest = ""
        return rest

    def lines(self, width: int, palette: Palette, frame: Frame, key: object, _: dict[str, Any]) -> list[Line]:
        width = max(width, MIN_WIDTH)
        if key != self._key:
            self._lines = [[frame(row) for row in code_head(self._code.language, palette)]]
            self._key, self._open_key = key, None
        ground = palette.on_sunken
        for number in range(len(self._lines) - 1, self._code.closed_slices):
            rows = code_rows(self._code.slice_pieces(number, ground), width, palette)
            self._lines.append([frame(row) for row in rows])
        if self._open_key != self._code.version:
            self._open = [frame(row) for row in code_rows(self._code.open_pieces(ground), width, palette)]
            self._open_key = self._code.version
        lines = [line for part in self._lines for line in part] + self._open
        return lines or [frame(row) for row in code_rows([[]], width, palette)]

    def forget(self) -> None:
        self._key = None
        self._lines, self._open = [], []

    def _strip(self, line: str) -> str:
        """The line without the fence's own indent, of which a tab may be a part (CommonMark 2.2)."""
        at = column = 0
        while column < self._indent and line[at : at + 1] in (" ", "\t"):
            column += 1 if line[at] == " " else 4 - column % 4
            at += 1
        return " " * max(0, column - self._indent) + line[at:]


class MarkdownStream:
    """A Markdown text that grows. `append` is cheap; `lines` does the work, for all that came since."""

    def __init__(self, text: str = "", *, final: bool = False) -> None:
        self._pending: list[str] = [text] if text else []
        self._rest = ""  # came, but is not taken in yet
        self._parts: list[_Blocks | _Fence] = []
        self._tail = ""
        self._tail_tokens: Sequence[Any] = ()
        self._tail_dirty = True
        self._tail_number: int | None = None  # of its first item, when it goes on with a list
        self._tail_tight = False
        self._tail_lines: list[Line] = []
        self._tail_key: object = None
        self._final = final
        self._references: dict[str, Any] = {}
        self._text: list[str] = [text] if text else []
        self.length = len(text)

    @property
    def text(self) -> str:
        """The whole source so far."""
        if len(self._text) > 1:
            self._text = ["".join(self._text)]
        return self._text[0] if self._text else ""

    @property
    def is_blank(self) -> bool:
        """Whether there is nothing but white space so far."""
        return not self.text or self.text.isspace()

    def append(self, text: str) -> None:
        """More text at the end."""
        self._pending.append(text)
        self._text.append(text)
        self.length += len(text)

    def replace(self, text: str, *, final: bool = False) -> None:
        """Another text in place of all there was."""
        self.__init__(text, final=final)

    def finish(self) -> None:
        """The text is complete: nothing at its end is held back any more."""
        if not self._final:
            self._final = True
            self._pending.append("")

    def forget(self) -> None:
        """Drops what was laid out, to save memory; of a text that is complete, all but its source is made again."""
        if self._final:
            self.replace(self.text, final=True)
        else:
            self._lay_out_anew()

    def _lay_out_anew(self) -> None:
        for part in self._parts:
            part.forget()
        self._tail_key = None
        self._tail_lines = []

    @property
    def unfinished(self) -> bool:
        """Whether its lines were asked for in slices, and are not all of them."""
        return bool(self._rest)

    def lay_out(self, width: int, palette: Palette, frame: Frame, key: object) -> None:
        """A slice more of it, see `lines`."""
        known = len(self._parts)
        self._absorb(SLICE)
        for part in self._parts[max(known - 1, 0) :]:
            part.lines(width, palette, frame, key, self._references)

    def lines(self, width: int, palette: Palette, frame: Frame, key: object, *, sliced: bool = False) -> list[Line]:
        """All lines. `key` names everything that `frame` depends on beside the row, as the width and the palette. With
        `sliced` of much that came only the beginning."""
        if self._pending or (self._rest and not sliced):
            self._absorb(SLICE if sliced else 0)
        out: list[Line] = []
        for part in self._parts:
            if out and not part.tight:
                out.append(frame(Row([])))
            out += part.lines(width, palette, frame, key, self._references)
        if self._tail_dirty or key != self._tail_key:
            rows = MarkdownRows(width, palette, self._tail_number).render(self._tail_tokens)
            self._tail_lines = [frame(row) for row in rows]
            self._tail_dirty, self._tail_key = False, key
        if out and self._tail_lines and not self._tail_tight:
            out.append(frame(Row([])))
        out += self._tail_lines
        if self._ended and not self.is_blank and not any(line.content.strip() for line in out):
            # Definitions of links alone, an entity that is a blank: it stands as it was written.
            return [frame(row) for line in self.text.split("\n") for row in wrap([(clean(line), palette.base)], width)]
        return out

    @property
    def _ended(self) -> bool:
        return self._final and not self._rest

    def _absorb(self, most: int) -> None:
        """Takes in what came; about `most` characters of it, unless that is 0."""
        text = "".join((self._rest, *self._pending))
        self._pending.clear()
        end = text.find("\n", most) + 1 if most else 0
        self._rest, text = (text[end:], text[:end]) if end else ("", text)
        if text.endswith("\r") and not self._final:
            text = text[:-1]
            self._pending.append("\r")  # half a line break, perhaps
        self._tail += text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\u2400")
        if self._ended and _DEFINITION.search(self.text.replace("\r", "\n")):
            environment: dict[str, Any] = {}
            parser().parse(self.text, environment)
            self._references = environment.get("references", {})
            self._lay_out_anew()
        while self._advance():
            pass

    def _advance(self) -> bool:
        """Moves what is complete out of the tail. True when there may be more."""
        fence = self._parts[-1] if self._parts else None
        if isinstance(fence, _Fence) and not fence.closed:
            self._tail = fence.take(self._tail, self._ended)
            self._tail_tokens, self._tail_dirty = (), True
            return fence.closed and bool(self._tail)
        shown: str = self._tail if self._ended else mend(self._tail)
        tokens = parser().parse(shown, {"references": dict(self._references)})
        blocks = [token for token in tokens if token.level == 0 and token.map and token.type != "inline"]
        if not blocks:
            self._tail_tokens, self._tail_dirty = tokens, True
            return False
        lines: list[str] = shown.split("\n")
        begin: int = blocks[-1].map[0]
        last = blocks[-1]
        source = self._tail.split("\n")
        if len(blocks) > 1:
            self._close(lines[:begin])
            source = source[begin:]
            self._tail = "\n".join(source)
            tokens = tokens[tokens.index(last) :]
        elif last.type == "fence":
            source = source[begin:]
        if last.type == "fence" and (opening := _FENCE.match(source[0])):
            self._parts.append(_Fence(len(opening[1]), opening[2], opening[3]))
            self._tail = "\n".join(source[1:])
            self._tail_tokens, self._tail_dirty = (), True
            return True
        is_list = len(self._tail) > LONG_LIST and last.type in ("bullet_list_open", "ordered_list_open")
        if is_list and self._split_list(tokens, source, begin if len(blocks) > 1 else 0):
            return True
        if len(blocks) > 1:
            begin = 0
        if cut := cut_after(last.type, "\n".join(source[begin:])):
            return self._cut(last.type, source[:begin], "\n".join(source[begin:]), cut)
        self._tail_tokens, self._tail_dirty = tokens, True
        return False

    def _close(self, lines: list[str]) -> None:
        """The first lines of the tail are complete."""
        self._parts.append(_Blocks("\n".join(lines) + "\n", self._tail_number, tight=self._tail_tight))
        self._tail_number, self._tail_tight = None, False

    def _cut(self, kind: str, above: list[str], block: str, at: int) -> bool:
        """The first characters of a very long block are laid out for good, below the empty lines above it."""
        self._close([*above, block[:at].rstrip("\n")])
        self._tail = block[at:]
        if kind == "table_open":
            self._tail = table_head(block) + self._tail
        else:
            self._tail_tight = True
        return True

    def _split_list(self, tokens: Sequence[Any], source: list[str], offset: int) -> bool:
        """All items but the last of a long list are complete too. True when there were any."""
        items = [token for token in tokens if token.type == "list_item_open" and token.level == 1]
        if len(items) < 2:
            self._tail_tokens, self._tail_dirty = tokens, True
            return False
        opener = next(token for token in tokens if token.type.endswith("_list_open"))
        first = self._tail_number if self._tail_number is not None else int(opener.attrs.get("start", 1))
        at: int = items[-1].map[0] - offset
        self._close(source[:at])
        if opener.type == "ordered_list_open":
            self._tail_number = first + len(items) - 1
        self._tail_tight = bool(source[at - 1].strip())
        self._tail = "\n".join(source[at:])
        return True
