"""Every room of the console at four sizes, dark or light in turns and at two of them both, as letters and colours;
`pytest --snapshot-update` draws them anew."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode
from textual.app import App
from textual.pilot import Pilot
from textual.widget import Widget

from tests.tui.drawing import Cells, drawing, looks
from tests.tui.parts import at_rest
from tests.tui.rooms import furnished, walk
from tests.tui.test_painted_contrast import THEMES as ALL_THEMES
from tests.tui.test_painted_contrast import too_weak, weak_now

SIZES = [(60, 15), (80, 24), (120, 40), (200, 60)]
OPENED = SIZES[1]
TURNS = [OPENED, *(size for size in SIZES if size != OPENED)]
READ_AT = TURNS[-1]
THEMES = ["fanout-dark", "fanout-light"]


class TextFile(SingleFileSnapshotExtension):
    """A snapshot is a text."""

    _write_mode = WriteMode.TEXT
    _file_extension = "txt"


@pytest.fixture(autouse=True)
def greenwich(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def out_of_reach(app: App[Any]) -> list[str]:
    """Names what of the room that is open stands below the frame around it, where no key scrolls to."""
    return [
        f"{widget!r} at {app.size}"
        for widget in app.screen.walk_children(Widget)
        if isinstance(box := widget.parent, Widget)
        and widget.display
        and not box.allow_vertical_scroll
        and widget.region.bottom > box.content_region.bottom
    ]


async def drawn(pilot: Pilot[Any], lost: list[str], weak: list[str], other: str) -> str:
    """The room that is open, at each size in the theme that is there, and at two of them in the other of both, which
    is there for the next room. Both are changed as seldom as can be: it begins with the size that is there, and ends
    with it. How far something is scrolled may depend on the sizes before. What is out of reach is added to `lost`. What
    can't be read at the last size is added to `weak`, in the two themes and in the `other`, which stands between
    them."""
    seen: dict[tuple[str, tuple[int, int]], tuple[str, Cells]] = {}
    themes = THEMES if pilot.app.theme == THEMES[0] else THEMES[::-1]
    for theme, sizes in zip(themes, (TURNS, (READ_AT, OPENED)), strict=True):
        pilot.app.theme = theme
        for size in sizes:
            if pilot.app.size != size:
                await pilot.resize_terminal(*size)
            await at_rest(pilot)
            seen[theme, size] = looks(pilot.app)
            lost += out_of_reach(pilot.app)
            if size == READ_AT:
                weak += weak_now(pilot.app)
        if theme == themes[0] and other not in THEMES:
            weak += await too_weak(pilot, [other])
    return "".join(
        of_size(size, {theme: seen[theme, size] for theme in THEMES if (theme, size) in seen}) for size in SIZES
    )


def of_size(size: tuple[int, int], looked: dict[str, tuple[str, Cells]]) -> str:
    title, texts = f"== {size[0]}x{size[1]}", {text for text, _ in looked.values()}
    if len(looked) == len(THEMES) and len(texts) == 1:
        return f"{title}\n{drawing(*texts, [cells for _, cells in looked.values()])}\n"
    return "".join(
        f"{title} {theme.removeprefix('fanout-')}\n{drawing(text, [cells])}\n"
        for theme, (text, cells) in looked.items()
    )


@pytest.mark.timeout(3000)  # one console goes through 48 rooms at six looks: a minute on a quiet machine
async def test_every_room_at_every_size_dark_and_light(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    """Every room can be read, too: in these two themes and in one more, which take turns; what rooms are made of is on
    the screens of `test_painted_contrast`, in all of them."""
    kept = snapshot.use_extension(TextFile)
    other: list[str] = []
    lost: list[str] = []
    weak: list[str] = []
    turns = cycle(ALL_THEMES)
    async with furnished(tmp_path) as console, console.run_test(size=OPENED) as pilot:
        async for name in walk(pilot):
            poor: list[str] = []
            picture = (await drawn(pilot, lost, poor, next(turns))).replace(os.fspath(tmp_path), "FOLDER")
            weak += [f"{name}: {said}" for said in poor]
            same: bool = kept(name=name) == picture
            if not same:
                other.append(name)
    assert not lost, "\n".join(sorted(set(lost)))
    assert not weak, "\n".join(weak)
    assert not other, "these look otherwise"
