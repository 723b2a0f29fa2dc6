"""Pages in a real Chromium: they open fast, answer to keys, and nothing foreign on them acts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from console_app import page
from tests.page.parts import HOSTILE, approved, saying
from tests.page.test_batch import written
from tests.web.chromium import Chromium

pytestmark = pytest.mark.filterwarnings("ignore")  # selenium's own


@pytest.fixture
def chromium(tmp_path: Path) -> Iterator[Chromium]:
    browser = Chromium(tmp_path)
    yield browser
    browser.driver.quit()


async def opened(chromium: Chromium, path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    await chromium.open(path.as_uri())


async def test_nothing_foreign_acts_is_fetched_or_refused(chromium: Chromium, tmp_path: Path) -> None:
    """A policy that had to stop something would be told here."""
    for number, text in enumerate(HOSTILE):
        await opened(chromium, tmp_path / f"{number}.html", page.of_conversation(saying(text), text))
        await chromium.ask("for (const one of document.querySelectorAll('details')) one.open = true")
        assert chromium.faults() == [], text
        assert await chromium.ask("return document.title.length > 0 && document.scripts.length === 1"), text
        links = await chromium.ask("return [...document.links].map((one) => one.protocol)")
        assert {*links} <= {"http:", "https:"}, text
        fetched = await chromium.ask("return performance.getEntriesByType('resource').map((one) => one.name)")
        assert fetched == [], text


async def test_search_keys_slider_and_theme(chromium: Chromium, tmp_path: Path) -> None:
    await opened(chromium, tmp_path / "a.html", page.of_conversation(approved("a **needle**"), "Talk"))
    chromium.picture("page")

    async def press(key: str) -> None:
        await chromium.ask(f"document.activeElement.blur(); document.body.dispatchEvent("
                           f"new KeyboardEvent('keydown', {{key: '{key}', bubbles: true}}))")  # fmt: skip

    await press("o")
    assert await chromium.ask("return [...document.querySelectorAll('details')].every((one) => one.open)")
    chromium.picture("page open")
    await press("e")
    shown = "return [...document.querySelectorAll('details.call')].filter((one) => one.checkVisibility()).length"
    assert await chromium.ask(shown) == 1
    await press("e")
    await press("/")
    assert await chromium.ask("return document.activeElement.id") == "search"
    await chromium.ask("const s = document.getElementById('search'); s.value = 'NEEDLE'; look()")
    assert await chromium.ask(shown) == 1
    await chromium.ask("const s = document.getElementById('search'); s.value = ''; look()")
    await chromium.ask(
        "const s = document.querySelector('input[type=range]'); s.value = 300;"
        "s.dispatchEvent(new Event('input', {bubbles: true}))"
    )
    told = await chromium.ask("return document.querySelector('.time output').textContent")
    assert told == "1.2 s: 1 needs you, 1 not yet, 1 ended", told
    ground = "return getComputedStyle(document.body).backgroundColor"
    before = await chromium.ask(ground)
    await press("d")
    assert await chromium.ask(ground) != before
    chromium.picture("page dark")
    chromium.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert await chromium.ask(ground) == "rgb(255, 255, 255)", "ink is dark on paper"
    on_paper = "return [...document.querySelectorAll('button, input')].filter((one) => one.checkVisibility()).length"
    assert await chromium.ask(on_paper) == 0
    assert chromium.faults() == []


async def test_on_a_phone_nothing_is_wider_than_the_page(chromium: Chromium, tmp_path: Path) -> None:
    wide = {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}
    chromium.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", wide)
    table = approved(f"| a | b |\n|---|---|\n| {'x' * 300} | 2 |")
    await opened(chromium, tmp_path / "a.html", page.of_conversation(table, "Talk"))
    rows = "return new Set([...document.querySelectorAll('#tools > button')].map((one) => one.offsetTop)).size"
    assert await chromium.ask(rows) == 1
    for told in (table, *map(saying, (*HOSTILE, "x" * 300))):
        await opened(chromium, tmp_path / "a.html", page.of_conversation(told, "Talk " + "long" * 40))
        await chromium.ask("for (const one of document.querySelectorAll('details')) one.open = true")
        assert await chromium.ask("return document.documentElement.scrollWidth") <= 390
    chromium.picture("page phone")


async def test_a_report_fits_a_phone_and_nothing_foreign_acts_on_it(chromium: Chromium, tmp_path: Path) -> None:
    wide = {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}
    chromium.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", wide)
    for text in ("Oslo", "x" * 300, *(one for one in HOSTILE if one.isprintable() or "\n" in one)):
        await opened(chromium, tmp_path / "page.html", written(tmp_path, text))
        bars = (
            "return Math.max(...[...document.querySelectorAll('.bar')].map((one) => one.getBoundingClientRect().right))"
        )
        assert await chromium.ask(bars) <= 390
        await chromium.ask("for (const one of document.querySelectorAll('details')) one.open = true")
        assert await chromium.ask("return document.documentElement.scrollWidth") <= 390
        assert chromium.faults() == [], text
        links = await chromium.ask("return [...document.links].map((one) => one.protocol)")
        assert {*links} <= {"http:", "https:"}, text
    chromium.picture("report phone")


async def test_keys_that_are_pressed_go_from_call_to_call(chromium: Chromium, tmp_path: Path) -> None:
    await opened(chromium, tmp_path / "a.html", page.of_conversation(approved("a **needle**"), "Talk"))
    at = "return document.activeElement.querySelector('.aloud')?.textContent ?? ''"
    opened_now = "return document.querySelectorAll('details[open]').length"
    for key, told in (("j", "ok: "), ("n", "said no (exit 1): "), ("k", "ok: ")):
        await chromium.send(key)
        assert await chromium.ask(at) == told, key
    await chromium.send("\ue007")
    assert await chromium.ask(opened_now) == 1
    await chromium.send("/")
    await chromium.send("needle")
    assert await chromium.ask("return document.getElementById('search').value") == "needle"
    await chromium.send("\ue00c")
    assert await chromium.ask("return [document.activeElement.id, document.getElementById('search').value]") == ["", ""]
    await opened(chromium, tmp_path / "page.html", written(tmp_path, "Oslo"))
    item = "return document.activeElement.closest('.item').querySelector('summary').textContent"
    await chromium.send("o", "j", "j", "j", "j")
    assert "good Oslo" in await chromium.ask(item)
    await chromium.send("n")
    assert "good Oslo" in await chromium.ask(item), "the next failure is below"
