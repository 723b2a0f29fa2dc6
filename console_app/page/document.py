"""The page around what is on it: its policy, its look, its keys. It runs its own script alone and asks for nothing."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator
from functools import lru_cache
from html import escape
from pathlib import Path

from console_app.domain import one_line

_HERE = Path(__file__).parent
_TOOLS = (
    '<div class="tools" id="tools" role="search" hidden>'
    '<input type="search" id="search" placeholder="Search   /" aria-label="Search this page" aria-keyshortcuts="/">'
    '<output id="found" aria-live="polite"></output>'
    '<button type="button" id="wrong" aria-pressed="false" aria-keyshortcuts="e">Failures <kbd>e</kbd></button>'
    '<button type="button" id="open" aria-keyshortcuts="o">Open all <kbd>o</kbd></button>'
    '<button type="button" id="dark" aria-keyshortcuts="d">Dark <kbd>d</kbd></button>'
    '<span class="note">j k go from call to call, n to failures</span></div>'
)


@lru_cache(maxsize=1)
def _parts() -> tuple[str, str]:
    return (_HERE / "look.css").read_text("utf-8"), (_HERE / "act.js").read_text("utf-8")


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def document(title: str, body: Iterable[str]) -> Iterator[str]:
    """Yield a whole page. `title` is text, `body` is HTML that `Texts` made safe."""
    style, script = _parts()
    policy = (
        f"default-src 'none'; style-src 'sha256-{_hash(style)}'; script-src 'sha256-{_hash(script)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    yield (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="referrer" content="no-referrer"><title>{escape(one_line(title))}</title>'
        f"<style>{style}</style></head>"
        f"<body>{_TOOLS}<main>\n"
    )
    yield from body
    yield f"</main><script>{script}</script></body></html>\n"


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """Names and values side by side; both are HTML already."""
    told = "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in pairs)
    return f"<dl>{told}</dl>" if told else ""
