"""Markdown to slides to the bytes of a PowerPoint file, 16:9. Import it late: python-pptx takes 0.5 s to load.

A heading of the first two levels, or a rule, begins a slide. A page holds some lines only: what is longer goes on, on a
slide of the same title.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from markdown_it import MarkdownIt
from markdown_it.token import Token
from pptx import Presentation
from pptx.oxml.ns import qn
from pptx.util import Emu, Inches, Pt

from console_app.servers.parts.pptx_internals import properties_of

LINES_A_SLIDE: Final = 14
DEEPEST_LEVEL: Final = 8  # of a list, in a presentation
_LINE: Final = 85  # characters that fit on a line
_NOTE: Final = re.compile(r"(?:speaker\s+)?notes?:\s*", re.IGNORECASE)
_COMMENT: Final = re.compile(r"<!--(.*?)-->", re.DOTALL)
_UNPRINTABLE: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")

Kind = Literal["bullet", "number", "text", "heading", "quote", "code"]


@dataclass(frozen=True, slots=True)
class TextRun:
    """Text in one style."""

    text: str
    bold: bool = False
    italic: bool = False
    code: bool = False
    link: str = ""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph of a slide. `level` is the depth of a list, from 0; `label` the number of a numbered item."""

    runs: tuple[TextRun, ...]
    kind: Kind = "text"
    level: int = 0
    label: str = ""

    @property
    def lines(self) -> int:
        text = "".join(run.text for run in self.runs)
        return sum(1 + len(line) // _LINE for line in text.split("\n"))


@dataclass(frozen=True, slots=True)
class SlideTable:
    """Cells as plain text; the first row is the head."""

    rows: tuple[tuple[str, ...], ...]

    @property
    def lines(self) -> int:
        return 2 + len(self.rows)


@dataclass
class Slide:
    """A slide; `is_title`: a title slide, whose paragraphs are its subtitle."""

    title: str = ""
    blocks: list[Paragraph | SlideTable] = field(default_factory=list["Paragraph | SlideTable"])
    notes: list[str] = field(default_factory=list[str])
    is_title: bool = False

    @property
    def empty(self) -> bool:
        return not (self.title or self.blocks or self.notes)


def read_slides(markdown: str) -> list[Slide]:
    """Return the slides of a Markdown text, in order; none for a text without content."""
    tokens = MarkdownIt("commonmark").enable("table").parse(_UNPRINTABLE.sub("", markdown))
    reader = _Reader()
    reader.read(tokens)
    slides = [slide for slide in reader.slides if not slide.empty]
    first = slides[0] if slides else None
    if first and len(slides) > 1 and first.title:
        plain = all(isinstance(block, Paragraph) and block.kind == "text" for block in first.blocks)
        first.is_title = plain and len(first.blocks) <= 2
    return [part for slide in slides for part in _parts(slide)]


def _parts(slide: Slide) -> Iterator[Slide]:
    """Return `slide`, split where it holds more than fits; a table shares its page with the little before it."""
    part = Slide(slide.title, [], slide.notes, slide.is_title)
    lines = 0
    for block in _pieces(slide.blocks):
        after_table = bool(part.blocks) and isinstance(part.blocks[-1], SlideTable)
        if part.blocks and (lines + block.lines > LINES_A_SLIDE or after_table):
            yield part
            part, lines = Slide(f"{slide.title} (continued)" if slide.title else ""), 0
        part.blocks.append(block)
        lines += block.lines
    yield part


def _pieces(blocks: Sequence[Paragraph | SlideTable]) -> Iterator[Paragraph | SlideTable]:
    """Blocks that fit on a page: long code and long tables in pieces."""
    for block in blocks:
        if isinstance(block, SlideTable) and len(block.rows) > LINES_A_SLIDE - 2:
            head, rows, size = block.rows[0], block.rows[1:], LINES_A_SLIDE - 3
            for at in range(0, len(rows), size):
                yield SlideTable((head, *rows[at : at + size]))
        elif isinstance(block, Paragraph) and block.kind == "code" and block.lines > LINES_A_SLIDE:
            lines = block.runs[0].text.split("\n")
            for at in range(0, len(lines), LINES_A_SLIDE):
                yield replace(block, runs=(TextRun("\n".join(lines[at : at + LINES_A_SLIDE]), code=True),))
        else:
            yield block


class _Reader:
    """Goes through the tokens once and gathers slides."""

    def __init__(self) -> None:
        self.slides = [Slide()]
        self._lists: list[int] = []  # the next number of each open list; 0 for bullets
        self._fresh_item = False  # the next paragraph is the item's own, with its bullet
        self._quotes = 0
        self._rows: list[list[str]] = []

    def read(self, tokens: Sequence[Token]) -> None:
        for at, token in enumerate(tokens):
            match token.type:
                case "inline":
                    self._inline(token, tokens[at - 1])
                case "hr":
                    self.slides.append(Slide())
                case "fence" | "code_block":
                    self._add(Paragraph((TextRun(token.content.rstrip("\n").expandtabs(4), code=True),), "code"))
                case "html_block":
                    # Comments are notes, with or without `notes:`; other HTML is left out.
                    for found in _COMMENT.finditer(token.content):
                        if note := _NOTE.sub("", found[1].strip(), count=1):
                            self.slides[-1].notes.append(note)
                case "bullet_list_open":
                    self._lists.append(0)
                case "ordered_list_open":
                    self._lists.append(int(token.attrGet("start") or 1))
                case "bullet_list_close" | "ordered_list_close":
                    self._lists.pop()
                case "list_item_open":
                    self._fresh_item = True
                case "blockquote_open" | "blockquote_close":
                    self._quotes += token.nesting
                case "table_open":
                    self._rows = []
                case "tr_open":
                    self._rows.append([])
                case "table_close":
                    self._add(SlideTable(tuple(map(tuple, self._rows))))
                case _:
                    pass

    def _inline(self, token: Token, around: Token) -> None:
        runs = tuple(_runs(token.children or ()))
        text = "".join(run.text for run in runs)
        if around.type in {"th_open", "td_open"}:
            self._rows[-1].append(text)
        elif around.type == "heading_open":
            if not self.slides[-1].empty and int(around.tag[1:]) > 2:
                self._add(Paragraph(runs, "heading"))
            elif self.slides[-1].empty:
                self.slides[-1].title = text
            else:
                self.slides.append(Slide(text))
        elif not self._lists and (note := _NOTE.match(text)):
            self.slides[-1].notes.append(text[note.end() :])
        elif text.strip():
            self._add(self._paragraph(runs))

    def _paragraph(self, runs: tuple[TextRun, ...]) -> Paragraph:
        level = min(max(len(self._lists) - 1, 0), DEEPEST_LEVEL)
        if not self._lists:
            return Paragraph(runs, "quote" if self._quotes else "text")
        if not self._fresh_item:
            return Paragraph(runs, "text", min(level + 1, DEEPEST_LEVEL))
        self._fresh_item = False
        if number := self._lists[-1]:
            self._lists[-1] += 1
            return Paragraph(runs, "number", level, f"{number}.")
        return Paragraph(runs, "bullet", level)

    def _add(self, block: Paragraph | SlideTable) -> None:
        self.slides[-1].blocks.append(block)


def _runs(children: Sequence[Token]) -> Iterator[TextRun]:
    style = TextRun("")
    for child in children:
        match child.type:
            case "text":
                yield replace(style, text=child.content)
            case "code_inline":
                yield replace(style, text=child.content, code=True)
            case "softbreak":
                yield replace(style, text=" ")
            case "hardbreak":
                yield replace(style, text="\n")
            case "strong_open" | "strong_close":
                style = replace(style, bold=child.nesting > 0)
            case "em_open" | "em_close":
                style = replace(style, italic=child.nesting > 0)
            case "link_open" | "link_close":
                style = replace(style, link=str(child.attrGet("href") or ""))
            case "image":
                yield replace(style, text=f"[picture: {child.content or child.attrGet('src')}]")
            case _:
                pass


_WIDTH, _HEIGHT = Inches(13.333), Inches(7.5)
_MARGIN, _TITLE_TOP, _BODY_TOP = Inches(0.7), Inches(0.4), Inches(1.6)
_LINE_HEIGHT: Final = Inches(0.4)
_TITLE, _CONTENT = 0, 1  # layouts of python-pptx's own template
_MONOSPACE: Final = "Courier New"
_SIZES: Final = {"heading": Pt(22), "code": Pt(14), "quote": Pt(20), "text": Pt(20)}
_LIST_SIZES: Final = (Pt(22), Pt(20), Pt(18))  # of levels; deeper ones are as the last
_INDENT: Final = Inches(0.35)
_SAFE_LINKS: Final = ("http://", "https://", "mailto:")


def pptx_bytes(slides: Sequence[Slide]) -> bytes:
    presentation: Any = Presentation()
    presentation.slide_width, presentation.slide_height = _WIDTH, _HEIGHT
    presentation.core_properties.title = slides[0].title[:255] if slides else ""
    presentation.core_properties.author = ""
    for slide in slides:
        _add(presentation, slide)
    file = io.BytesIO()
    presentation.save(file)
    return file.getvalue()


def _add(presentation: Any, slide: Slide) -> None:
    page = presentation.slides.add_slide(presentation.slide_layouts[_TITLE if slide.is_title else _CONTENT])
    title, body = page.shapes.title, page.placeholders[1]
    title.text_frame.text = slide.title
    title.text_frame.word_wrap = True
    wide = _WIDTH - 2 * _MARGIN
    if slide.is_title:
        _place(title, Inches(2.2), wide, Inches(1.6))
        _place(body, Inches(4.0), wide, Inches(1.8))
    else:
        _place(title, _TITLE_TOP, wide, Inches(1.0))
    paragraphs = [block for block in slide.blocks if isinstance(block, Paragraph)]
    table = next((block for block in slide.blocks if isinstance(block, SlideTable)), None)
    height = _HEIGHT - _BODY_TOP - Inches(0.4)
    if table:
        height = Emu(sum(paragraph.lines for paragraph in paragraphs) * _LINE_HEIGHT)
        _add_table(page, table, Emu(_BODY_TOP + height), wide)
    if not slide.is_title:
        _place(body, _BODY_TOP, wide, height)
    if paragraphs:
        body.text_frame.word_wrap = True
        _fill(body.text_frame, paragraphs, plain=slide.is_title)
    else:
        body.element.getparent().remove(body.element)  # an empty one would ask for text
    if slide.notes:
        page.notes_slide.notes_text_frame.text = "\n".join(slide.notes)


def _place(shape: Any, top: int, width: int, height: int) -> None:
    shape.left, shape.top, shape.width, shape.height = _MARGIN, top, width, height


def _fill(frame: Any, paragraphs: Sequence[Paragraph], *, plain: bool) -> None:
    for at, paragraph in enumerate(paragraphs):
        line = frame.paragraphs[0] if at == 0 else frame.add_paragraph()
        line.level = paragraph.level
        if paragraph.kind != "bullet" and not plain:
            # The template gives every paragraph a bullet and a hanging first line.
            properties = properties_of(line)
            properties.set("marL", str(int(_INDENT) * paragraph.level))
            properties.set("indent", "0")
            properties.insert(0, properties.makeelement(qn("a:buNone"), {}))
        label = (TextRun(f"{paragraph.label} "),) if paragraph.label else ()
        for run in (*label, *paragraph.runs):
            _add_run(line, run, paragraph)


def _add_run(line: Any, run: TextRun, paragraph: Paragraph) -> None:
    listed = _LIST_SIZES[min(paragraph.level, len(_LIST_SIZES) - 1)]
    for at, text in enumerate(run.text.split("\n")):
        if at:
            line.add_line_break()
        piece = line.add_run()
        piece.text = text
        piece.font.size = _SIZES.get(paragraph.kind, listed)  # PowerPoint takes no notice of a paragraph's own
        if run.bold or paragraph.kind == "heading":
            piece.font.bold = True
        if run.italic or paragraph.kind == "quote":
            piece.font.italic = True
        if run.code:
            piece.font.name = _MONOSPACE
        if run.link.startswith(_SAFE_LINKS):
            piece.hyperlink.address = run.link


def _add_table(page: Any, table: SlideTable, top: int, width: int) -> None:
    columns = max(map(len, table.rows))
    shape = page.shapes.add_table(len(table.rows), columns, _MARGIN, top, width, _LINE_HEIGHT * len(table.rows))
    for row, cells in enumerate(table.rows):
        for column, text in enumerate(cells):
            cell = shape.table.cell(row, column)
            cell.text = text
            for run in cell.text_frame.paragraphs[0].runs:
                run.font.size = Pt(16)
