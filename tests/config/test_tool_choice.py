"""A tool that is switched off in a folder is so for that folder alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from console_app.config.files import Paths
from console_app.config.servers import Selection, ServerConfig

PICKED = Selection({"demo": False, "files": True}, frozenset({("calculator", "tool", "a/b"), ("s", "resource", "x:y")}))


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return Paths.find({"FANOUT_HOME": str(tmp_path / "home")})


def test_what_was_picked_comes_back_in_its_folder_only(paths: Paths, tmp_path: Path) -> None:
    PICKED.save(paths, tmp_path)
    Selection({"demo": True}).save(paths, tmp_path / "other")
    assert Selection.load(paths, tmp_path) == PICKED
    assert Selection.load(paths, tmp_path / "third") == Selection()


def test_nothing_picked_leaves_nothing_behind(paths: Paths, tmp_path: Path) -> None:
    PICKED.save(paths, tmp_path)
    Selection().save(paths, tmp_path)
    assert paths.tools.read_text() == "{}\n"


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"FOLDER": 3}', '{"FOLDER": {"servers": [], "off": {"a": 1, "b": {"tools": 4}}}}']
)
def test_a_file_that_is_no_such_file_picks_nothing(paths: Paths, tmp_path: Path, text: str) -> None:
    paths.tools.parent.mkdir(parents=True)
    paths.tools.write_text(text.replace("FOLDER", str(tmp_path.resolve())))
    assert Selection.load(paths, tmp_path) == Selection()
    PICKED.save(paths, tmp_path)
    assert Selection.load(paths, tmp_path) == PICKED


def test_servers_are_switched_as_picked() -> None:
    servers = [ServerConfig(name=name, command="x", disabled=name == "files") for name in ("demo", "files", "third")]
    assert [server.disabled for server in PICKED.applied(servers)] == [True, False, False]
