"""Files dropped on the terminal attach what they are; any other paste stays the text it is."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from textual import events

from console_app.tui.prompt import prompt
from console_app.tui.prompt.prompt import looks_dropped, mentions_of
from tests.each import each
from tests.patience import PATIENCE
from tests.tui.parts import WrittenModel, app, chat, say, see, until


def made(folder: Path, name: str) -> Path:
    path = folder / name
    path.write_text("What it says.")
    return path


@each("name", ["a.txt", "a name.txt", "it's.txt", "ä%20.txt"])
def test_every_way_that_terminals_write_a_dropped_path(tmp_path: Path, name: str) -> None:
    path = made(tmp_path, name)
    escaped = "".join(f"\\{c}" if c in " '%" else c for c in str(path))
    quoted = f'"{path}"'
    for pasted in (str(path), f"{path}\n", escaped, quoted, path.as_uri()):
        assert looks_dropped(pasted)
        assert Path(mentions_of(pasted).strip().removeprefix("@").strip('"')) == path, pasted


def test_several_at_once_and_what_is_not_all_paths(tmp_path: Path) -> None:
    one, two = made(tmp_path, "one.txt"), made(tmp_path, "two.txt")
    assert mentions_of(f"{one} '{two}'") == f"@{one} @{two} "
    assert mentions_of(f"{one}\n{two}\n") == f"@{one} @{two} "
    for text in (f"{one} says it", f"{one}x", "/usr is a folder", "a.txt", "\0", f"{one} 'open"):
        assert mentions_of(text) == ""
    assert not looks_dropped("/" * 9_000)


async def test_keys_do_not_wait_for_the_disk_that_a_dropped_file_is_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = threading.Event()

    def from_afar(text: str) -> str:
        assert seen.wait(PATIENCE)
        return mentions_of(text)

    monkeypatch.setattr(prompt, "mentions_of", from_afar)
    path, other = made(tmp_path, "a.txt"), made(tmp_path, "b.txt")
    async with app(tmp_path, WrittenModel(say("Read."))).run_test(size=(80, 24)) as pilot:
        written = chat(pilot.app).prompt
        try:
            for key in (*"see ", events.Paste(str(path)), *" and", "enter", events.Paste(str(other)), *"!"):
                if isinstance(key, events.Paste):
                    written.post_message(key)
                else:
                    await pilot.press({" ": "space", "!": "exclamation_mark"}.get(key, key))
            await until(pilot, lambda: written.text == f"{other}!")
            await see(pilot, "Read.")
        finally:
            seen.set()
        await until(pilot, lambda: written.text == f"@{other} !")
        assert written.cursor_location == (0, len(written.text))


async def test_a_dropped_file_goes_along_with_its_chip(tmp_path: Path) -> None:
    path = made(tmp_path, "a name.txt")
    model = WrittenModel(say("Read."))
    async with app(tmp_path, model).run_test(size=(80, 24)) as pilot:
        chat(pilot.app).prompt.post_message(events.Paste(f"'{path}'"))
        await until(pilot, lambda: chat(pilot.app).prompt.text == f'@"{path}" ')
        await see(pilot, "token")
        await pilot.press("enter")
        await see(pilot, "Read.")
        assert "What it says." in str(model.requests[0].messages[-1].content)
