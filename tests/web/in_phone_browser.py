"""A phone's page in a real Chromium (`make web`), behind a proxy that ends TLS: 390 by 844, and a finger."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver.common.keys import Keys

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


async def test_a_finger_approves_behind_tls_and_the_keys_of_the_page_work(phone: Chromium, tmp_path: Path) -> None:
    with_filing_server(tmp_path)
    async with (
        tls_proxy() as proxy,
        serving(tmp_path, token=TOKEN, public_urls=(proxy.url,), arguments=ASKING) as server,
    ):
        proxy.to = server.port
        await phone.open(f"{proxy.url}#token={TOKEN}")
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
