"""Slides to the bytes of a PowerPoint file, 16:9, with python-pptx. Import it late: the library takes 0.5 s to load."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any, Final

from pptx import Presentation
from pptx.oxml.ns import qn
from pptx.util import Emu, Inches, Pt

from console_app.servers.parts.markdown_slides import Paragraph, Slide, SlideTable, TextRun
from console_app.servers.parts.pptx_internals import properties_of

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
    """Return the whole file."""
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
            _without_bullet(line, paragraph.level)
        label = (TextRun(f"{paragraph.label} "),) if paragraph.label else ()
        for run in (*label, *paragraph.runs):
            _add_run(line, run, paragraph)


def _size(paragraph: Paragraph) -> Pt:
    if paragraph.kind in {"bullet", "number"}:
        return _LIST_SIZES[min(paragraph.level, len(_LIST_SIZES) - 1)]
    return _SIZES[paragraph.kind]


def _without_bullet(line: Any, level: int) -> None:
    """Take away the bullet and the hanging first line that the template gives every paragraph."""
    properties = properties_of(line)
    properties.set("marL", str(int(_INDENT) * level))
    properties.set("indent", "0")
    properties.insert(0, properties.makeelement(qn("a:buNone"), {}))


def _add_run(line: Any, run: TextRun, paragraph: Paragraph) -> None:
    for at, text in enumerate(run.text.split("\n")):
        if at:
            line.add_line_break()
        piece = line.add_run()
        piece.text = text
        piece.font.size = _size(paragraph)  # of each run: PowerPoint takes no notice of a paragraph's own
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
