"""`make site`, last step: the built site loads nothing from elsewhere, and each of its pages says so to the browser."""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path

_LOADS = {"script": "src", "img": "src", "iframe": "src", "link": "href", "source": "src", "video": "src"}
_ELSEWHERE = re.compile(r"(?:https?:)?//", re.IGNORECASE)
_IN_CSS = re.compile(r"(?:@import\s*|url\()\s*['\"]?\s*((?:https?:)?//[^'\")]+)", re.IGNORECASE)


class _Loads(HTMLParser):
    """The addresses that a page makes a browser fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.guarded = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        self.guarded |= named.get("http-equiv") == "Content-Security-Policy"
        if tag == "link" and named.get("rel") in ("canonical", "prev", "next"):
            return
        self.found.append(named.get(_LOADS.get(tag, "")) or "")


def faults(site: Path) -> list[str]:
    """Return a line for each thing that a page or style would fetch from elsewhere, and each page without the guard."""
    found: list[str] = []
    for page in sorted(site.rglob("*.html")):
        reader = _Loads()
        reader.feed(page.read_text(encoding="utf-8"))
        found += [f"{page.relative_to(site)}: {one}" for one in reader.found if _ELSEWHERE.match(one)]
        found += [] if reader.guarded else [f"{page.relative_to(site)}: no Content-Security-Policy"]
    for style in sorted(site.rglob("*.css")):
        found += [f"{style.relative_to(site)}: {one}" for one in _IN_CSS.findall(style.read_text(encoding="utf-8"))]
    return found


if __name__ == "__main__":
    site = Path(sys.argv[1])
    if lines := faults(site):
        sys.exit("\n".join(lines))
    print(f"{site}/index.html: {len(list(site.rglob('*.html')))} pages, nothing loaded from elsewhere")
