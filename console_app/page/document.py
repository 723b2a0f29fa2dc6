"""The page around what is on it: its policy, its look, its keys. It runs its own script alone and asks for nothing."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from html import escape
from pathlib import Path

from console_app.domain import one_line
from console_app.records import dataclass

_HERE = Path(__file__).parent
ICON = '<link rel="icon" href="data:,">'  # else a browser asks for one
_TOOLS = (
    '<div class="tools" id="tools" role="search" hidden>'
    '<input type="search" id="search" placeholder="Search   /" aria-label="Search this page" aria-keyshortcuts="/">'
    '<output id="found" aria-live="polite"></output>'
    '<button type="button" id="wrong" aria-pressed="false" aria-keyshortcuts="e">Failures <kbd>e</kbd></button>'
    '<button type="button" id="open" aria-keyshortcuts="o">Open all <kbd>o</kbd></button>'
    '<button type="button" id="dark" aria-keyshortcuts="d">Dark <kbd>d</kbd></button>'
    '<span class="note">j k go from call to call, n to failures</span></div>'
)


@dataclass(frozen=True, slots=True)
class PageBlock:
    """A piece of a page within the block of the id `parent`. With `end` others stand within it, behind `html`."""

    id: str
    parent: str
    html: str
    end: str = ""

    @property
    def named(self) -> str:
        return re.sub(r"^<(\w+)", rf'<\1 id="{self.id}"', self.html + self.end, count=1)


def written(blocks: Iterable[PageBlock]) -> Iterator[str]:
    within: list[PageBlock] = []
    for block in blocks:
        while within and within[-1].id != block.parent:
            yield within.pop().end
        yield block.html
        if block.end:
            within.append(block)
    yield from (block.end for block in reversed(within))


@dataclass(frozen=True, slots=True)
class PageFrame:
    """The look and the script of a page, and the policy that lets it have no other."""

    style: str
    script: str
    policy: str

    @classmethod
    @lru_cache(maxsize=2)
    def of(cls, *, live: bool) -> PageFrame:
        style, script = (
            "".join(_read(name) for name in names[: 1 + live])
            for names in (("look.css", "live.css"), ("act.js", "live.js"))
        )
        own, socket = (" 'self'", " connect-src 'self';") if live else ("", "")
        policy = (
            f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}{own};{socket} "
            "img-src data:; base-uri 'none'; form-action 'none'"
        )
        return cls(style, script, policy)


def _read(name: str) -> str:
    return (_HERE / name).read_text("utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def document(title: str, body: Iterable[str], *, live: bool = False) -> Iterator[str]:
    """Yield a whole page. `title` is text, `body` is HTML that `Texts` made safe. A `live` one is filled over a socket,
    and has what `live.html` says below it."""
    frame = PageFrame.of(live=live)
    yield (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{frame.policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1, interactive-widget=resizes-content">'
        f'<meta name="referrer" content="no-referrer"><title>{escape(one_line(title))}</title>'
        f"{ICON if live else ''}<style>{frame.style}</style></head>"
        f"<body{' class=live' if live else ''}>{_TOOLS}<main id='talk'>\n"
    )
    yield from body
    yield f"</main>{_read('live.html') if live else ''}"
    yield f"<script{' type=module' if live else ''}>{frame.script}</script></body></html>\n"


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """Names and values side by side; both are HTML already."""
    told = "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in pairs)
    return f"<dl>{told}</dl>" if told else ""
