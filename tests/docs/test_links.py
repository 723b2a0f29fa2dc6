"""Links of the pages lead to what is there; every picture is shown, every page has its place in the site."""

from __future__ import annotations

from pathlib import Path

from tests.docs.built import faults
from tests.docs.markdown import PAGES, ROOT, anchors, links
from tests.each import each


@each("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_what_is_there(page: Path) -> None:
    wrong: list[str] = []
    for link in links(page):
        path, _, anchor = link.partition("#")
        if path.startswith(("https://", "http://", "mailto:")):
            continue
        target = (page.parent / path).resolve() if path else page
        if not target.is_relative_to(ROOT) or not target.exists():
            wrong.append(f"{link}: no such file")
        elif anchor and anchor not in anchors(target):
            wrong.append(f"{link}: no such heading")
    assert wrong == []


def test_every_picture_is_shown_somewhere() -> None:
    endings = (".svg", ".webp")
    shown = {(page.parent / link).resolve() for page in PAGES for link in links(page) if link.endswith(endings)}
    assert {path.resolve() for path in (ROOT / "docs" / "pictures").iterdir() if path.suffix in endings} == shown


def test_every_page_has_one_place_in_the_site() -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2]
    listed = [line.rpartition(": ")[2] for line in text.splitlines() if line.endswith(".md")]
    assert sorted(listed) == sorted(page.name for page in (ROOT / "docs").glob("*.md"))


def test_a_site_that_loads_from_elsewhere_is_told(tmp_path: Path) -> None:
    guard = '<meta http-equiv="Content-Security-Policy" content="default-src \'self\'">'
    (tmp_path / "good.html").write_text(f'{guard}<a href="https://example.com">x</a><img src="a.svg">')
    assert faults(tmp_path) == []
    (tmp_path / "bad.html").write_text(f'{guard}<script src="//cdn.example/x.js"></script>')
    (tmp_path / "bare.html").write_text("<p>x</p>")
    (tmp_path / "a.css").write_text("@import url(https://fonts.example/a)")
    assert faults(tmp_path) == [
        "bad.html: //cdn.example/x.js",
        "bare.html: no Content-Security-Policy",
        "a.css: https://fonts.example/a",
    ]
