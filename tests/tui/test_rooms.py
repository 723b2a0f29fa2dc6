"""Every room of the console as letters and colours, at two of the sizes it is kept at, dark or light in turns.

`make explore` looks at all that is kept: four sizes in one of the two themes, and two of them in the other.
`pytest --snapshot-update` draws them anew.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode
from textual.app import App
from textual.pilot import Pilot
from textual.widget import Widget

from tests.examples import EXPLORING
from tests.tui.drawing import Cells, drawing, drawn, looks
from tests.tui.parts import at_rest
from tests.tui.rooms import furnished, walk
from tests.tui.test_painted_contrast import THEMES as ALL_THEMES
from tests.tui.test_painted_contrast import too_weak, weak_now

SIZES = [(60, 15), (80, 24), (120, 40), (200, 60)]
OPENED = SIZES[1]
TURNS = [OPENED, *(size for size in SIZES if size != OPENED)]
READ_AT = TURNS[-1]
THEMES = ["fanout-dark", "fanout-light"]


Looked = dict[tuple[str, tuple[int, int]], tuple[str, Cells]]  # at a room, in a theme at a size


class TextFile(SingleFileSnapshotExtension):
    """A snapshot is a text, and may have looks that were not taken in this run."""

    _write_mode = WriteMode.TEXT
    _file_extension = "txt"

    def matches(self, *, serialized_data: Any, snapshot_data: Any) -> bool:
        kept = looked_at(snapshot_data)
        return all(kept.get(one) == look for one, look in looked_at(serialized_data).items())


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


async def all_looks(pilot: Pilot[Any], lost: list[str], weak: list[str], other: str) -> Looked:
    """The room that is open, at each size in the theme that is there, and at two of them in the other of both, which
    is there for the next room. Both are changed as seldom as can be: it begins with the size that is there, and ends
    with it. How far something is scrolled may depend on the sizes before. What is out of reach is added to `lost`. What
    can't be read at the last size is added to `weak`, in the two themes and in the `other`, which stands between
    them."""
    seen: Looked = {}
    themes = THEMES if pilot.app.theme == THEMES[0] else THEMES[::-1]
    for theme, sizes in zip(themes, (TURNS, (READ_AT, OPENED)), strict=True):
        pilot.app.theme = theme
        seen |= await in_sizes(pilot, sizes, lost, weak)
        if theme == themes[0] and other not in THEMES:
            weak += await too_weak(pilot, [other])
    return seen


async def some_looks(pilot: Pilot[Any], lost: list[str], weak: list[str], number: int) -> Looked:
    """The room that is open, in the theme that is there, at two of the sizes that it is kept at in this theme. Each
    twelfth is read in one theme more, and then comes the other of the two."""
    theme = pilot.app.theme
    sizes = (OPENED, TURNS[1 + number // 2 % 2]) if theme == THEMES[number % 2] else (READ_AT, OPENED)
    seen = await in_sizes(pilot, sizes, lost, weak)
    if number % 12 == 11:
        weak += await too_weak(pilot, [ALL_THEMES[number % len(ALL_THEMES)]])
        pilot.app.theme = THEMES[1 - THEMES.index(theme)]
    await pilot.resize_terminal(*OPENED)
    await at_rest(pilot)
    return seen


async def in_sizes(pilot: Pilot[Any], sizes: Sequence[tuple[int, int]], lost: list[str], weak: list[str]) -> Looked:
    seen: Looked = {}
    for size in sizes:
        if pilot.app.size != size:
            await pilot.resize_terminal(*size)
        await at_rest(pilot)
        seen[pilot.app.theme, size] = looks(pilot.app)
        lost += out_of_reach(pilot.app)
        if size == sizes[-1] or size == READ_AT:
            weak += weak_now(pilot.app)
    return seen


def picture_of(seen: Looked) -> str:
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


def looked_at(picture: str) -> Looked:
    """Read a picture back: return the looks that `picture_of` drew it from."""
    parts = re.split(r"^== (\d+)x(\d+)(?: (dark|light))?\n", picture, flags=re.MULTILINE)[1:]
    seen: Looked = {}
    for width, height, theme, look in zip(*(parts[of::4] for of in range(4)), strict=True):
        text, colours = drawn(look.removesuffix("\n"))
        for name, cells in zip([f"fanout-{theme}"] if theme else THEMES, colours, strict=True):
            seen[name, (int(width), int(height))] = text, cells
    return seen


@pytest.mark.timeout(3000)  # one console goes through 48 rooms, in `make explore` at six looks: a minute there
async def test_every_room_looks_as_it_did_and_can_be_read(
    tmp_path: Path, snapshot: SnapshotAssertion, request: pytest.FixtureRequest
) -> None:
    """Each room is compared with its kept picture, and read for contrast in the themes of this run;
    `test_painted_contrast` reads the widgets of rooms in all themes."""
    kept = snapshot.use_extension(TextFile)
    whole = EXPLORING or request.config.getoption("update_snapshots")
    other: list[str] = []
    lost: list[str] = []
    weak: list[str] = []
    turns = cycle(ALL_THEMES)
    number = 0
    async with furnished(tmp_path) as console, console.run_test(size=OPENED) as pilot:
        async for name in walk(pilot):
            poor: list[str] = []
            looking = all_looks(pilot, lost, poor, next(turns)) if whole else some_looks(pilot, lost, poor, number)
            picture = picture_of(await looking).replace(os.fspath(tmp_path), "FOLDER")
            weak += [f"{name}: {said}" for said in poor]
            same: bool = kept(name=name) == picture
            if not same:
                other.append(name)
            number += name != "themes"  # the theme that was there comes back behind it
    assert not lost, "\n".join(sorted(set(lost)))
    assert not weak, "\n".join(weak)
    assert not other, "these look otherwise"
