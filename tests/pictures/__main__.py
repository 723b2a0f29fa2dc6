"""`make pictures`: every picture of the docs. The moving one is the first half minute of `make run`, with its keys.

The session behind it is kept with the keys that were pressed, so its picture is the same everywhere; --record plays it
anew, in the real console on a pseudo-terminal. Stills of the screens (`screens.py`) show times as they were measured.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from console_app.tui.recording.recorder import BEFORE
from tests.pictures import screens
from tests.program.process import ROOT, Fanout

FOLDER = ROOT / "docs" / "pictures"
SESSION, KEYS, PICTURE = (FOLDER / f"first.{ending}" for ending in ("jsonl", "keys.json", "svg"))
SHOWN = 1.4  # seconds that a key is seen
# What is seen before a key is pressed, the key, and the words for it.
_PRESSED = (
    ("servers(.|\n)*Ask, or /", "enter", "Enter: the first example"),
    ("step 3 of 18", "y", "y: run the call that waits for you"),
    ("step 6 of 18", "up", "\u2191: to the calls"),
    ("step 8 of 18", "x", "x: stop this call, the others go on"),
)
Pressed = Sequence[tuple[float, str]]


def record() -> None:
    """Plays the first half minute, and keeps its session and its keys."""
    with tempfile.TemporaryDirectory() as folder:
        fanout = Fanout(Path(folder))
        pressed: list[tuple[float, str]] = []
        with screens.console(fanout) as terminal:
            for seen, key, words in _PRESSED:
                terminal.expect(seen)
                terminal.press(key)
                pressed.append((time.time(), words))
            terminal.expect("shows how they ran")
            screens.leave(terminal)
        stored = fanout.run("sessions", "list", "--jsonl").events
        lines = fanout.run("sessions", "export", str(stored[0]["id"]), "--format", "jsonl").out
    SESSION.write_text(lines)
    began = min(json.loads(line).get("at") or time.time() for line in lines.splitlines())
    KEYS.write_text(json.dumps([(round(at - began, 2), words) for at, words in pressed], ensure_ascii=False) + "\n")


def draw() -> None:
    """Draws the kept session."""
    with tempfile.TemporaryDirectory() as folder:
        fanout = Fanout(Path(folder))
        session_id = fanout.run("sessions", "import", str(SESSION)).out.strip()
        size = f"{screens.SIZE[0]}x{screens.SIZE[1]}"
        done = fanout.run("sessions", "export", session_id, "--format", "svg", "--size", size)
    if done.code:
        raise SystemExit(done.err)
    PICTURE.write_text(with_keys(done.out, json.loads(KEYS.read_text())))
    print(f"{PICTURE.relative_to(ROOT)}: {PICTURE.stat().st_size:,} bytes")


def with_keys(svg: str, pressed: Pressed) -> str:
    """The picture with each key at its time, in the upper right corner."""
    found, size = re.search(r"animation:([\d.]+)s", svg), re.search(r'viewBox="0 0 ([\d.]+)', svg)
    assert found
    assert size
    seconds, right = float(found[1]), float(size[1]) - 16
    rules, drawn = [], []
    for number, (at, words) in enumerate(pressed):
        begin = max(at + BEFORE, 0)
        end = min(begin + SHOWN, pressed[number + 1][0] + BEFORE if number + 1 < len(pressed) else seconds)
        shown, hidden = (f"{100 * one / seconds:.4g}%" for one in (begin, end))
        width = 8.4 * len(words) + 24
        rules.append(f"@keyframes key{number}{{{shown}{{visibility:visible}}{hidden}{{visibility:hidden}}}}")
        drawn.append(
            f'<g class="m" style="animation-name:key{number}"><rect x="{right - width:g}" y="36" width="{width:g}" '
            f'height="28" rx="6" fill="#fe9e64"/><text x="{right - width + 12:g}" y="55" '
            f'style="fill:#1a1b26;font-weight:bold">{words}</text></g>'
        )
    head, _, rest = svg.partition("</style>")
    return f"{head}{chr(10).join(rules)}\n</style>{rest}".replace("</svg>", "\n".join([*drawn, "</svg>"]))


if __name__ == "__main__":
    if "--record" in sys.argv or not SESSION.exists():
        record()
    draw()
    screens.draw(FOLDER)
    try:
        from tests.pictures import pages
    except ModuleNotFoundError as error:
        raise SystemExit(f"The pictures of the page need {error.name} and chromium: `make web` installs it.") from None
    asyncio.run(pages.draw(FOLDER))
