"""/config: every setting with its value, who set it and what it means, changed in place in the file it belongs to."""

from __future__ import annotations

import os
import threading
import tomllib
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, OptionList

from console_app import wiring
from console_app.config.files import Paths
from console_app.config.settings import LayeredSettings, OwnSettings, Settings
from console_app.domain.approvals import ApprovalMode
from console_app.domain.errors import ConfigError
from console_app.tui.app import FanoutApp
from tests.each import each
from tests.patience import PATIENCE
from tests.tui.parts import WrittenModel, app, at_rest, chat, enter, say, see, seen, services, until

MINE = """# what I like
max_steps = 7  # enough
temperature = 0.5
"""


def console(
    folder: Path, *, environ: dict[str, str] | None = None, project: str = "", held: threading.Event | None = None
) -> tuple[FanoutApp, Path]:
    """A console on the settings of `folder`, and the user's file of it; they are read once `held` is set."""
    paths = Paths.find({"FANOUT_HOME": str(folder / "home")})
    paths.settings.parent.mkdir(parents=True)
    paths.settings.write_text(MINE)
    if project:
        Paths.project_settings(folder).parent.mkdir()
        Paths.project_settings(folder).write_text(project)

    def load() -> Any:
        assert held is None or held.wait(PATIENCE)
        return LayeredSettings.load(paths, cwd=folder, flags={}, environ=environ or {})

    made = services(folder, WrittenModel(say("Well.")))
    made.settings = OwnSettings(paths.settings, load, partial(wiring.apply_setting, made.engine))
    return FanoutApp(made), paths.settings


async def opened(pilot: Pilot[Any], words: str = "") -> None:
    await enter(pilot, f"/config {words}".strip())
    await see(pilot, "Settings")
    await until(pilot, lambda: pilot.app.screen.query_one(OptionList).option_count > 0)


async def test_a_switch_turns_a_choice_is_picked_a_number_is_written(tmp_path: Path) -> None:
    running, file = console(tmp_path)
    async with running.run_test(size=(80, 24)) as pilot:
        engine = chat(pilot.app).console.conversation.engine
        await opened(pilot, "dedupe")
        await pilot.press("enter")
        await see(pilot, "dedupe: false. It holds from now on.")
        assert not engine.settings.dedupe
        await pilot.press("escape")
        await opened(pilot, "approval_mode")
        await pilot.press("enter")
        await see(pilot, "yolo")
        await pilot.press(*"auto", "enter")
        await see(pilot, "approval_mode: auto.")
        await until(pilot, lambda: engine.gate.mode is ApprovalMode.AUTO)
        await pilot.press("escape")
        await opened(pilot, "max_steps")
        await pilot.press("enter")
        await see(pilot, "enter save · esc cancel")
        await pilot.press("backspace", *"12", "enter")
        await see(pilot, "max_steps: 12. It holds from now on.")
        assert engine.settings.max_steps == 12
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is chat(pilot.app))
    assert tomllib.loads(file.read_text()) == {
        "max_steps": 12, "temperature": 0.5, "dedupe": False, "approval_mode": "auto"}  # fmt: skip
    assert "# what I like" in file.read_text()
    assert "# enough" in file.read_text()


async def test_what_is_changed_right_before_the_dialog_closes_holds(tmp_path: Path) -> None:
    held = threading.Event()
    held.set()
    running, file = console(tmp_path, held=held)
    async with running.run_test(size=(80, 24)) as pilot:
        engine = chat(pilot.app).console.conversation.engine
        await opened(pilot, "dedupe")
        held.clear()
        await pilot.press("enter", "escape")
        await until(pilot, lambda: pilot.app.screen is chat(pilot.app) and "dedupe" in file.read_text())
        held.set()
        await until(pilot, lambda: not engine.settings.dedupe)


async def test_what_is_wrong_with_a_change_is_told_though_the_dialog_is_closed(tmp_path: Path) -> None:
    held = threading.Event()
    held.set()
    running, file = console(tmp_path, held=held)
    async with running.run_test(size=(160, 24), notifications=True) as pilot:
        await opened(pilot, "dedupe")
        held.clear()
        await pilot.press("enter", "escape")
        await until(pilot, lambda: pilot.app.screen is chat(pilot.app) and "dedupe" in file.read_text())
        file.write_text("max_steps = = 3\n")
        held.set()
        await see(pilot, "dedupe: It can't hold before this is mended")


async def test_the_values_of_small_rooms_are_whole(tmp_path: Path) -> None:
    running, file = console(tmp_path)
    file.write_text('model = "offline/rehearsal"\n')
    async with running.run_test(size=(60, 15)) as pilot:
        await opened(pilot, "model")
        await see(pilot, "offline/rehearsal")
        row = next(line for line in seen(running).splitlines() if "offline/rehearsal" in line)
        assert "your file" in row


async def test_a_bad_value_is_one_line_and_stays_to_be_corrected(tmp_path: Path) -> None:
    running, file = console(tmp_path)
    async with running.run_test(size=(80, 24)) as pilot:
        await opened(pilot, "max_steps")
        await pilot.press("enter", "backspace", "0", "enter")
        await see(pilot, "greater than or equal to 1; not 0.")
        assert file.read_text() == MINE
        await pilot.press("backspace", "9", "enter")
        await see(pilot, "max_steps: 9.")
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is chat(pilot.app))


async def test_del_goes_back_to_the_default_and_an_unset_text_is_emptied(tmp_path: Path) -> None:
    running, file = console(tmp_path)
    async with running.run_test(size=(80, 24)) as pilot:
        await opened(pilot, "max_steps")
        await see(pilot, "your file")
        await pilot.press("delete")
        await see(pilot, "max_steps: 25.")
        await pilot.press("delete")
        await see(pilot, "Your file does not set max_steps.")
        await pilot.press("escape")
        await opened(pilot, "temperature")
        await pilot.press("enter")
        await see(pilot, "enter save · esc cancel")
        await pilot.press(*["backspace"] * 4, "enter")
        await see(pilot, "temperature: not set. It holds from the next start on.")
    assert tomllib.loads(file.read_text()) == {}


async def test_what_is_not_set_and_has_no_choices_is_written(tmp_path: Path) -> None:
    running, file = console(tmp_path)
    async with running.run_test(size=(80, 24)) as pilot:
        for name, typed in (("max_tokens", "400"), ("max_price", "1.5"), ("fallback", "a/b"), ("groups", "x, y")):
            await opened(pilot, name)
            await pilot.press("enter")
            await see(pilot, "enter save · esc cancel")
            await pilot.press(*typed, "enter")
            await see(pilot, f"{name}: {typed}.")
            await pilot.press("escape")
            await until(pilot, lambda: pilot.app.screen is chat(pilot.app))
            assert name in tomllib.loads(file.read_text())


async def test_a_file_that_broke_meanwhile_is_one_line_that_stays(tmp_path: Path) -> None:
    running, file = console(tmp_path)
    async with running.run_test(size=(80, 24)) as pilot:
        file.write_text("max_steps = = 1\n")
        await enter(pilot, "/config")
        await see(pilot, "config.toml:1:13")
        await pilot.press(*"max")
        await until(pilot, lambda: pilot.app.screen.query_one("#filter", Input).value == "max")
        await see(pilot, "config.toml:1:13")


@pytest.mark.skipif(os.name == "nt", reason="it is about links and modes")
async def test_a_protected_file_is_left_alone_and_a_link_stays_one(tmp_path: Path) -> None:
    running, file = console(tmp_path)
    behind = tmp_path / "kept elsewhere.toml"
    file.replace(behind)
    file.symlink_to(behind)
    async with running.run_test(size=(80, 24)) as pilot:
        await opened(pilot, "dedupe")
        behind.chmod(0o400)
        await pilot.press("enter")
        await see(pilot, "is write-protected")
        assert behind.read_text() == MINE
        behind.chmod(0o600)
        await pilot.press("enter")
        await see(pilot, "dedupe: false.")
    assert file.is_symlink()
    assert tomllib.loads(behind.read_text())["dedupe"] is False


async def test_what_outranks_the_file_is_said(tmp_path: Path) -> None:
    running, _ = console(tmp_path, environ={"FANOUT_MAX_STEPS": "3"})
    async with running.run_test(size=(80, 24)) as pilot:
        await opened(pilot, "max_steps")
        await see(pilot, "environment")
        await pilot.press("enter", "backspace", "8", "enter")
        await see(pilot, "Your file is changed, but the environment outranks")
        assert chat(pilot.app).console.conversation.engine.settings.max_steps != 8


async def test_the_theme_changes_at_once(tmp_path: Path) -> None:
    running, file = console(tmp_path)
    async with running.run_test(size=(80, 24)) as pilot:
        await opened(pilot, "colours")
        await pilot.press("enter", *"fjord", "enter")
        await until(pilot, lambda: pilot.app.theme == "fjord")
        await see(pilot, "theme: fjord. It holds from now on.")
    assert tomllib.loads(file.read_text())["theme"] == "fjord"


def _never(_name: str, _settings: Settings) -> bool:
    return False


@each(("added", "says"), [("max_stepps = 3\n", "max_stepps"), ("max_steps 3\n", "expected '='")])
def test_a_file_that_was_edited_wrong_is_not_kept(tmp_path: Path, added: str, says: str) -> None:
    paths = Paths.find({"FANOUT_HOME": str(tmp_path)})

    def load() -> Any:
        return LayeredSettings.load(paths, cwd=tmp_path / "elsewhere", flags={}, environ={})

    own, file = OwnSettings(paths.settings, load, _never), paths.settings
    own.replace(file, MINE)
    with pytest.raises(ConfigError) as caught:
        own.replace(file, MINE + added)
    assert says in caught.value.line
    assert own.text(file) == MINE
    file.write_text(MINE + added)
    assert own.to_edit() == file
    assert says in own.replace(file, f"{MINE}# half mended\n{added}")
    assert "half mended" in own.text(file)
    assert not own.replace(file, "max_steps = 4\n")
    assert own.text(file) == "max_steps = 4\n"


@pytest.mark.parametrize("size", [(120, 40), (80, 24)], ids=str)
def test_settings_in_pictures(snap_compare: Any, tmp_path: Path, size: tuple[int, int]) -> None:
    running, _ = console(tmp_path, environ={"FANOUT_STRATEGY": "react"}, project='approval_mode = "yolo"\n')

    async def run(pilot: Pilot[Any]) -> None:
        await opened(pilot)
        rows = pilot.app.screen.query_one(OptionList)
        rows.highlighted = [row for row, one in enumerate(rows.options) if not one.disabled][22]
        await see(pilot, "this project, not trusted")
        await at_rest(pilot)

    assert snap_compare(running, terminal_size=size, run_before=run)


async def test_there_is_nothing_to_change_in_a_replay(tmp_path: Path) -> None:
    async with app(tmp_path).run_test(size=(80, 24), notifications=True) as pilot:
        await enter(pilot, "/config")
        await see(pilot, "There are no settings to change")
        assert "Settings" not in seen(pilot.app)


async def test_motion_is_turned_off_in_place(tmp_path: Path) -> None:
    running, file = console(tmp_path)
    async with running.run_test(size=(80, 24)) as pilot:
        await opened(pilot, "ui.motion")
        await pilot.press("enter")
        await see(pilot, "ui.motion: false. It holds from now on.")
        assert running.animation_level == "none"
        await pilot.press("enter")
        await see(pilot, "ui.motion: true. It holds from now on.")
        assert running.animation_level != "none"
        await pilot.press("enter")
        await see(pilot, "ui.motion: false.")
    assert tomllib.loads(file.read_text())["ui"] == {"motion": False}
