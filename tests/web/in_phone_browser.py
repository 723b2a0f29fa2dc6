"""A phone's page in a real Chromium (`make web`), behind a proxy that ends TLS: 390 by 844, and a finger."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys

from console_app.domain import ApprovalMode
from console_app.domain.ports import CallReporter, Invocation
from console_app.engine import ApprovalGate
from console_app.page import LivePage
from tests.page.parts import HOSTILE
from tests.patience import until_told
from tests.tui.parts import Run, Tools, WrittenModel, calls, echo, say, services
from tests.web.chromium import TO_PROMPT, Chromium
from tests.web.parts import TOKEN, serving
from tests.web.test_opening import with_filing_server
from tests.web.tls_proxy import NAME, tls_proxy

pytestmark = pytest.mark.filterwarnings("ignore")  # selenium's own
SCREEN = {"width": 390, "height": 844, "pixelRatio": 2.0, "touch": True, "mobile": True}
ASKING = ("-m", "offline/rehearsal", "--mcp", "filing")


@pytest.fixture
def phone(tmp_path: Path) -> Iterator[Chromium]:
    browser = Chromium(
        tmp_path / "downloads",
        f"--host-resolver-rules=MAP {NAME} 127.0.0.1",
        "--ignore-certificate-errors",
        mobileEmulation={"deviceMetrics": SCREEN},
    )
    try:
        yield browser
    finally:
        browser.driver.quit()


def page_of(tmp_path: Path, *answers: Any, run: Run = echo) -> LivePage:
    """A page with this model behind it, whose calls all ask."""
    tools, gate = Tools({("lab", "do"): run}), ApprovalGate(ApprovalMode.ASK)
    return LivePage(lambda: services(tmp_path, WrittenModel(*answers), tools, gate=gate))


async def test_a_finger_approves_behind_tls_and_the_keys_of_the_page_work(phone: Chromium, tmp_path: Path) -> None:
    with_filing_server(tmp_path)
    async with (
        tls_proxy() as proxy,
        serving(tmp_path, token=TOKEN, public_urls=(proxy.url,), arguments=ASKING, shared=page_of(tmp_path)) as server,
    ):
        proxy.to = server.port
        await phone.open(f"{proxy.url}#token={TOKEN}")
        await phone.see("mode ", "Terminal")
        assert await phone.ask("return location.pathname + location.hash") == "/page", "a small screen has this first"
        await phone.ask("document.getElementById('to-terminal').click()")
        await phone.see(TO_PROMPT[1:], "● ")
        columns, rows = await phone.ask("return fanout.size()")
        assert columns >= 60, "what the console needs"
        assert rows > 40
        await phone.press("filing.report {}", Keys.ENTER)
        await phone.see("1 needs you", "y run it")
        phone.picture("phone-approval")
        await phone.decide(lambda: phone.tap("y run it"), "✓ done ·")
        phone.picture("phone-done")
        await phone.ask("""
            const keys = [...document.querySelectorAll("#keys button")];
            keys.find((key) => key.textContent === "^P").click();
        """)
        await phone.see("Search for commands")
        phone.picture("phone-commands")
        assert phone.faults() == []


SEND = """
    const field = document.querySelector("#prompt textarea");
    field.value = %s;
    document.getElementById("prompt").requestSubmit();
"""
DECIDE = """
    const button = document.querySelector('%s');
    button?.scrollIntoView({block: "nearest"});
    button?.click();
    return button === null;
"""


async def test_the_page_decides_reloads_and_runs_nothing_foreign(phone: Chromium, tmp_path: Path) -> None:
    hostile = "\n\n".join((*HOSTILE, "<img src=x onerror='window.hit = 1'><script>window.hit = 1</script>"))

    async def work(_invocation: Invocation, _reporter: CallReporter) -> str:
        return hostile

    asked = calls(*(("lab_do", json.dumps({"text": one})) for one in (hostile, "x" * 300, "two")))
    async with serving(tmp_path, shared=page_of(tmp_path, asked, say(hostile), run=work)) as server:
        await phone.open(server.link)
        await phone.see("mode ask")
        await phone.ask(SEND % json.dumps(f"Do all. {hostile}"))
        await phone.see("3 things need you", "Allow once")
        assert await phone.ask("return document.documentElement.scrollWidth") <= 390
        phone.picture("page asks")
        ids = await phone.ask("return [...document.querySelectorAll('.asks')].map((one) => one.id)")
        for number, name in enumerate(ids):
            await phone.ask(f"document.querySelector('#{name} input').value = 'words {number}'")

        async def decided() -> bool:
            """Tell whether the block is gone. A click on it too soon after a change only says so."""
            return bool(await phone.ask(DECIDE % f"#{ids[0]} [data-how=once]"))

        await until_told(decided, "the decision")
        kept = await phone.ask(f"return document.querySelector('#{ids[1]} input').value")
        assert kept == "words 1", "what was typed stays while other blocks change"
        await phone.open(server.url + "page")
        await phone.see("2 things need you", "Do all.")
        for name in ids[1:]:
            ids[0] = name
            await until_told(decided, "the decision")
        await phone.see("Turn 1 is over.")
        await phone.ask("for (const one of document.querySelectorAll('details.call')) one.open = true")
        await phone.see("Approved by you.", "SHA-256")
        phone.picture("page done")
        assert await phone.ask("return window.hit") is None
        fetched = "return performance.getEntriesByType('resource').map((one) => new URL(one.name).pathname)"
        assert set(await phone.ask(fetched)) == {"/static/door.js"}
        assert phone.faults() == []


async def test_all_of_the_page_is_reached_by_keys_and_told_to_a_screen_reader(phone: Chromium, tmp_path: Path) -> None:
    asked = calls(("lab_do", json.dumps({"text": "one"})))
    async with serving(tmp_path, shared=page_of(tmp_path, asked, say("Over."))) as server:
        await phone.open(server.link)
        await phone.see("mode ask")
        await phone.ask("document.querySelector('#prompt textarea').focus()")
        await phone.press("Do it", Keys.ENTER, "now")
        assert "Do it\nnow" in await phone.ask("return document.querySelector('#prompt textarea').value"), "a new line"
        await phone.press(Keys.TAB, Keys.ENTER)
        await phone.see("1 thing needs you.", "Allow once")
        spoken = await phone.ask("const said = document.getElementById('said'); return [said.ariaLive, said.innerText]")
        assert spoken == ["polite", "1 thing needs you."]
        unnamed = """return [...document.querySelectorAll("button, input, textarea, section, a")].filter((one) =>
            one.checkVisibility() && !one.ariaLabel && !one.textContent).map((one) => one.outerHTML)"""
        assert await phone.ask(unnamed) == []
        reached = "const one = document.activeElement; return one.dataset.how || one.dataset.do || one.tagName"

        async def allowed() -> bool:
            if "Over." in await phone.text():
                return True
            await phone.ask("document.querySelector('.asks input')?.focus()")
            await phone.send(Keys.TAB)
            if await phone.ask(reached) == "once":
                await phone.ask("document.activeElement.click()")
            return False

        await until_told(allowed, "the decision")
        assert phone.faults() == []
