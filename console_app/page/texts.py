"""Texts of others as HTML that does nothing: everything is escaped, links lead to the web alone, nothing is fetched."""

from __future__ import annotations

import base64
import json
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from html import escape
from pathlib import Path
from typing import Any

from console_app.domain import Artifact, picture_size, plural, safe_text, visible, web_address

LONGEST = 200_000  # characters of one text that are on the page
LONGEST_CODE = 20_000  # characters that are coloured
MOST_ROWS = 1_000  # of a table
LARGEST_PICTURE = 4_000_000  # bytes of a file
ALL_PICTURES = 30_000_000


class Texts:
    """Writes texts for one page. `clean` takes secrets out of each before it is cut or escaped."""

    def __init__(self, clean: Callable[[str], str], pictures: Path | None = None) -> None:
        """`pictures` is the only folder whose files may come onto the page: a session may name any file."""
        self._clean = clean
        self._pictures = pictures
        self._left = ALL_PICTURES

    def line(self, text: str) -> str:
        return escape(" ".join(visible(self._clean(text)).split()))

    def plain(self, text: str) -> str:
        """A text with its lines, the end of a very long one left out."""
        return "".join(map(escape, self._kept(text)))

    def block(self, text: str) -> str:
        return f"<pre>{self.plain(text)}</pre>"

    def code(self, text: str, language: str) -> str:
        kept, more = self._kept(text)
        return f"<pre>{_coloured(kept, language)}{escape(more)}</pre>"

    def json(self, value: object) -> str:
        return self.code(json.dumps(value, indent=2, ensure_ascii=False, default=str), "json")

    def markdown(self, text: str) -> str:
        """Markdown as it was meant. HTML in it is text, and so is a picture: it would be fetched."""
        kept, more = self._kept(text)
        return f'<div class="said">{_parser().render(kept)}{escape(more)}</div>'

    def diff(self, text: str) -> str:
        kept, more = self._kept(text)
        return f"<pre>{''.join(map(_diff_line, kept.splitlines(keepends=True)))}{escape(more)}</pre>"

    def table(self, columns: Iterable[str], rows: Sequence[Sequence[str]], count: int) -> str:
        head = "".join(f'<th scope="col">{self.line(name)}</th>' for name in columns)
        body = "".join(f"<tr>{''.join(f'<td>{self.plain(cell)}</td>' for cell in row)}</tr>" for row in rows)
        more = f"<p class='note'>… {plural(count - len(rows), 'more row')}</p>" if count > len(rows) else ""
        return f'<div class="wide"><table><tr>{head}</tr>{body}</table></div>{more}'

    def result(self, kind: str, text: str, language: str, value: Any) -> str:
        """A result as what it is: the fields of the view's `ResultKind`."""
        match kind:
            case "diff":
                return self.diff(text)
            case "source":
                return self.code(text, language)
            case "json":
                return self.json(value)
            case "table":
                return self.table(value.columns, value.rows(0, min(value.count, MOST_ROWS)), value.count)
            case "markdown":
                return self.markdown(text)
            case _:
                return self.block(safe_text.SGR.sub("", text)) if text else ""

    def picture(self, artifact: Artifact) -> str:
        """The picture itself, in the page; "" where its file is gone, too large, no picture or not one of ours."""
        path = Path(artifact.path)
        if self._pictures is None or not path.resolve().is_relative_to(self._pictures.resolve()):
            return ""
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
            with open(descriptor, "rb") as file:
                state = os.fstat(descriptor)
                if not stat.S_ISREG(state.st_mode) or state.st_size > min(LARGEST_PICTURE, self._left):
                    return ""
                data = file.read()
        except OSError:
            return ""
        mime, sides = picture_size.picture_type(data), picture_size.picture_size(data)
        if not mime or sides is None:
            return ""
        self._left -= len(data)
        written = base64.b64encode(data).decode()
        size = f'width="{sides[0]}" height="{sides[1]}"'
        return f'<p><img alt="{self.line(artifact.name)}" {size} src="data:{mime};base64,{written}"></p>'

    def _kept(self, text: str) -> tuple[str, str]:
        clean = visible(self._clean(text))
        more = len(clean) - LONGEST
        return clean[:LONGEST], f" … {plural(more, 'more character')}" if more > 0 else ""


def _diff_line(line: str) -> str:
    name = {"+": "success", "-": "error", "@": "secondary"}.get(line[:1])
    return f'<span class="{name}">{escape(line)}</span>' if name else escape(line)


@lru_cache(maxsize=1)
def _parser() -> Any:
    from markdown_it import MarkdownIt

    def coloured(code: str, language: str, _attributes: str) -> str:
        return _coloured(code, language) if len(code) <= LONGEST_CODE else escape(code)

    made = MarkdownIt("commonmark", {"html": False, "maxNesting": 20, "highlight": coloured})
    made.enable(["table", "strikethrough"])
    made.validateLink = web_address.is_web_link
    made.add_render_rule("image", _image)
    made.add_render_rule("link_open", _link)
    made.add_render_rule("th_open", _cell)
    made.add_render_rule("td_open", _cell)
    return made


def _image(_renderer: Any, tokens: Sequence[Any], index: int, _options: Any, _env: Any) -> str:
    return f"[picture: {escape(tokens[index].content)}, {escape(str(tokens[index].attrs.get('src', '')))}]"


def _cell(_renderer: Any, tokens: Sequence[Any], index: int, _options: Any, _env: Any) -> str:
    """The beginning of a cell; the parser writes its alignment as a style, which the policy forbids."""
    side = str(tokens[index].attrs.get("style", "")).removeprefix("text-align:")
    return f'<{tokens[index].tag} class="{side}">' if side in ("left", "center", "right") else f"<{tokens[index].tag}>"


def _link(_renderer: Any, tokens: Sequence[Any], index: int, _options: Any, _env: Any) -> str:
    target = escape(str(tokens[index].attrs.get("href", "")))
    return f'<a href="{target}" rel="noopener noreferrer" target="_blank">'


def _coloured(code: str, language: str) -> str:
    from pygments.lexers import get_lexer_by_name  # pyright: ignore[reportUnknownVariableType]
    from pygments.util import ClassNotFound

    if not language or len(code) > LONGEST_CODE:
        return escape(code)
    try:
        lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return escape(code)
    return "".join(_pieces(lexer.get_tokens(code)))


def _pieces(tokens: Iterable[tuple[Any, str]]) -> Iterator[str]:
    from pygments.token import Comment, Keyword, Name, Number, String

    inks = (
        *((Comment, "c"), (Keyword, "k"), (String, "s"), (Number, "m")),
        *((Name.Function, "nf"), (Name.Class, "nf"), (Name.Tag, "nf")),
    )
    for kind, text in tokens:
        ink = next((ink for one, ink in inks if kind in one), "")
        yield f'<span class="{ink}">{escape(text)}</span>' if ink else escape(text)
