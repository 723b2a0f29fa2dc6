"""The page of `fanout serve` on a phone, a tablet and a desk, light and dark, while a call waits: in Chromium."""

from __future__ import annotations

import base64
import contextlib
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from console_app.command_line import parse_arguments
from console_app.commands.console import open_services
from console_app.page import LivePage
from tests.program.process import Fanout
from tests.web.chromium import Chromium
from tests.web.parts import serving

SIZES = {"phone": (390, 844), "tablet": (768, 1024), "desk": (1440, 900)}
ARGUMENTS = ("-m", "offline/rehearsal")
SAYS = """
    const field = document.querySelector("#prompt textarea");
    field.value = "Show me what you can do";
    document.getElementById("prompt").requestSubmit();
"""


async def _drawn(folder: Path, name: str, *, dark: bool, chromium: Chromium, link: str) -> None:
    """The page at one size; the first one also begins the conversation that the others see."""
    width, height = SIZES[name]

    def sent(command: str, **more: Any) -> Any:
        return chromium.driver.execute_cdp_cmd(command, more)

    mobile = name != "desk"
    sent("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile)
    scheme = "dark" if dark else "light"
    sent("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    if link:
        await chromium.open(link)
        await chromium.see("mode ")
        await chromium.ask(SAYS)
    await chromium.see("needs you", "✓", "Allow once")
    await chromium.ask("document.getElementById('board').scrollTop = document.getElementById('talk').scrollTop = 99999")
    await chromium.ask("return new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
    picture = sent("Page.captureScreenshot", format="webp", quality=60)["data"]
    path = folder / f"page-{name}-{scheme}.webp"
    path.write_bytes(base64.b64decode(picture))
    print(f"{folder.name}/{path.name}: {path.stat().st_size:,} bytes")


async def draw(folder: Path) -> None:
    """Draws all of them into `folder`."""
    with tempfile.TemporaryDirectory() as home, contextlib.chdir((fanout := Fanout(Path(home))).cwd):
        environ = fanout.environment()
        shared = LivePage(partial(open_services, parse_arguments(ARGUMENTS), environ))
        chromium = Chromium(Path(home))
        try:
            async with serving(fanout.cwd, shared=shared, environ=environ, arguments=ARGUMENTS) as server:
                links = iter([f"{server.url}page#token={server.door.token}"])
                for name in SIZES:
                    for dark in (False, True):
                        await _drawn(folder, name, dark=dark, chromium=chromium, link=next(links, ""))
        finally:
            chromium.driver.quit()
