"""A page of 10,000 calls: how long it takes to write, how large it is, and how soon Chromium shows and searches it.

Chromium is asked where it and selenium are installed (`make web`).
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.console import parser
from console_app import page
from console_app.domain import events as ev
from console_app.domain.tools import Outcome

STEPS, CALLS = 200, 50


def conversation() -> Iterator[ev.Event]:
    """200 answers of 50 calls each, with arguments, a wait, and a result of twenty lines."""
    result = "\n".join(f"line {number} of what the tool found" for number in range(20))
    yield ev.TurnStarted(prompt="Look at all of it.", turn=1, at=0.0)
    for step in range(STEPS):
        at = step * 10.0
        yield ev.StepStarted(turn=1, step=step, at=at)
        yield ev.TextDelta(text=f"## Step {step}\n\nNow **fifty** files more.", at=at)
        for kind in range(4):
            for number in range(CALLS):
                call_id, when = f"c{step}.{number}", at + kind + number * 0.01
                match kind:
                    case 0:
                        yield ev.CallAnnounced(
                            call_id=call_id, index=number, name="files_read", server="files", tool="read", at=when
                        )
                    case 1:
                        arguments = {"path": f"folder/{step}/file{number}.txt", "lines": number}
                        yield ev.CallReady(call_id=call_id, arguments=arguments, at=when)
                    case 2:
                        yield ev.CallStarted(call_id=call_id, at=when)
                    case _:
                        outcome = Outcome.FAILED if number % 17 == 0 else Outcome.SUCCEEDED
                        yield ev.CallFinished(
                            call_id=call_id, outcome=outcome, content=result, duration_ms=1000, at=when
                        )
    yield ev.TurnFinished(outcome="completed", turn=1, at=STEPS * 10.0)


def main(argv: list[str] | None = None) -> None:
    """Print the figures."""
    parser(__doc__).parse_args(argv)
    events = list(conversation())
    began = time.perf_counter()
    text = page.of_conversation(events, "Ten thousand calls")
    print(f"{STEPS * CALLS:,} calls: written in {time.perf_counter() - began:.1f} s, {len(text) / 1e6:.1f} MB")
    if (driver := shutil.which("chromedriver")) is None:
        print("no chromedriver: not opened")
        return
    try:
        from selenium import webdriver  # pyright: ignore
        from selenium.webdriver.chrome.service import Service  # pyright: ignore
    except ImportError:
        print("no selenium: not opened")
        return
    options = webdriver.ChromeOptions()  # pyright: ignore
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(word)  # pyright: ignore
    browser = webdriver.Chrome(options=options, service=Service(driver))  # pyright: ignore
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "page.html")
            path.write_text(text, encoding="utf-8")
            browser.get("about:blank")  # pyright: ignore
            began = time.perf_counter()
            browser.get(path.as_uri())  # pyright: ignore
            painted = "return new Promise((ok) => requestAnimationFrame(() => setTimeout(ok)))"
            browser.execute_script(painted)  # pyright: ignore
            print(f"opened and painted in {time.perf_counter() - began:.2f} s")
            for act in ("search.value = 'file7 ' + '199'; look()", "search.value = ''; look()", "open()"):
                began = time.perf_counter()
                browser.execute_script(f"{act}; document.body.offsetHeight")  # pyright: ignore
                print(f"{act}: {time.perf_counter() - began:.2f} s")
    finally:
        browser.quit()  # pyright: ignore


if __name__ == "__main__":
    main()
