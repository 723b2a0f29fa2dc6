"""fanout config list, get, set, unset and edit, as a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from console_app.config.settings import Settings


def fanout(folder: Path, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """The command, in `folder`, with its home there."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return subprocess.run(
        [sys.executable, "-m", "console_app", "config", *words],
        cwd=folder,
        env=kept | {"FANOUT_HOME": str(folder / "home")} | environ,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_setting_is_set_read_and_unset(tmp_path: Path) -> None:
    done = fanout(tmp_path, "set", "max_steps", "7")
    assert (done.returncode, done.stderr) == (0, "")
    file = tmp_path / "home" / "config.toml"
    assert done.stdout == f"max_steps is set in {file}\n"
    file.write_text(f"# mine\n{file.read_text()}")
    assert fanout(tmp_path, "get", "max_steps").stdout == "7\n"
    assert fanout(tmp_path, "set", "limits.files", "2").returncode == 0
    assert json.loads(fanout(tmp_path, "get", "limits.files", "--json").stdout) == 2
    assert "# mine" in file.read_text()
    assert fanout(tmp_path, "unset", "max_steps").stdout == f"max_steps is no longer set in {file}\n"
    assert fanout(tmp_path, "get", "max_steps").stdout == "25\n"


def test_a_theme_that_there_is_not_is_refused_with_what_there_is(tmp_path: Path) -> None:
    done = fanout(tmp_path, "set", "theme", "nosuch")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("fanout: there is no theme nosuch. There are: ")
    assert not (tmp_path / "home" / "config.toml").exists()
    own = tmp_path / "home" / "themes"
    own.mkdir(parents=True)
    (own / "mine.toml").write_text(Path("themes/nord.toml").read_text().replace('name = "nord"', 'name = "mine"'))
    assert fanout(tmp_path, "set", "theme", "mine").returncode == 0


def test_the_list_says_value_source_and_meaning_of_each(tmp_path: Path) -> None:
    fanout(tmp_path, "set", "dedupe", "no")
    listed = json.loads(fanout(tmp_path, "list", "--json", FANOUT_MAX_STEPS="9").stdout)["settings"]
    assert {one["name"].partition(".")[0] for one in listed} == set(Settings.model_fields)
    assert fanout(tmp_path, "get", "ui.motion").stdout == "true\n"
    fanout(tmp_path, "set", "ui.motion", "off")
    assert fanout(tmp_path, "get", "ui.motion").stdout == "false\n"
    by_name = {one["name"]: one for one in listed}
    assert by_name["dedupe"]["value"] is False
    assert by_name["dedupe"]["source"].endswith("config.toml")
    assert by_name["max_steps"] == {
        "name": "max_steps", "value": 9, "source": "the environment", "kind": "number", "choices": [],
        "meaning": "most requests of a turn", "waits_for_trust": None}  # fmt: skip
    assert "most requests of a turn" in fanout(tmp_path, "list").stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("set", "max_steps", "none"), "max_steps takes a whole number; not none."),
        (("set", "max_stepps", "3"), "Did you mean max_steps?"),
        (("set", "max_steps"), "set needs NAME VALUE."),
        (("get", "nothing"), "there is no setting nothing."),
        (("get",), "get needs NAME."),
    ],
)
def test_what_cannot_be_is_one_line_and_exit_code_2(tmp_path: Path, words: tuple[str, ...], says: str) -> None:
    done = fanout(tmp_path, *words)
    assert done.returncode == 2
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""
    assert not (tmp_path / "home" / "config.toml").exists()


def test_the_projects_file_and_what_outranks_it(tmp_path: Path) -> None:
    assert fanout(tmp_path, "set", "max_steps", "3", "--project").returncode == 0
    assert (tmp_path / ".fanout" / "config.toml").read_text() == "max_steps = 3\n"
    assert "outranks it" in fanout(tmp_path, "set", "max_steps", "9").stdout


def test_a_file_that_is_broken_can_be_edited(tmp_path: Path) -> None:
    file = tmp_path / "home" / "config.toml"
    file.parent.mkdir()
    file.write_text("max_steps = = 3\n")
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\necho "max_steps = 4" > "$1"\n')
    editor.chmod(0o700)
    assert fanout(tmp_path, "get", "max_steps").returncode == 2
    done = fanout(tmp_path, "edit", EDITOR=str(editor))
    assert (done.returncode, done.stdout) == (0, f"{file}\n")
    assert fanout(tmp_path, "get", "max_steps").stdout == "4\n"
    editor.write_text('#!/bin/sh\necho "max_stepps = 4" > "$1"\n')
    done = fanout(tmp_path, "edit", EDITOR=str(editor))
    assert done.returncode == 2
    assert 'Did you mean "max_steps"?' in done.stderr


def test_what_is_wrong_in_another_file_keeps_nobody_from_setting(tmp_path: Path) -> None:
    project = tmp_path / ".fanout" / "config.toml"
    project.parent.mkdir()
    project.write_text("max_steps = = 3\n")
    done = fanout(tmp_path, "set", "max_parallel", "3")
    assert (done.returncode, done.stdout) == (0, f"max_parallel is set in {tmp_path / 'home' / 'config.toml'}\n")
    assert f"{project}:1:13: invalid value" in done.stderr
    assert "`fanout config edit --project` opens it." in done.stderr
    assert fanout(tmp_path, "unset", "max_parallel").returncode == 0
    assert fanout(tmp_path, "set", "max_steps", "3", "--project").returncode == 2


def test_a_file_whose_settings_are_wrong_is_mended_one_by_one(tmp_path: Path) -> None:
    file = tmp_path / "home" / "config.toml"
    file.parent.mkdir()
    file.write_text('max_steps = "many"\nmax_stepps = 3\n[limmits]\nfiles = 2\n')
    assert "max_steps takes a whole number" in fanout(tmp_path, "set", "max_parallel", "3").stderr
    assert 'unknown key "max_stepps"' in fanout(tmp_path, "set", "max_steps", "4").stderr
    assert 'unknown key "limmits"' in fanout(tmp_path, "unset", "max_stepps").stderr
    done = fanout(tmp_path, "unset", "limmits")
    assert (done.returncode, done.stderr) == (0, "")
    assert tomllib.loads(file.read_text()) == {"max_steps": 4, "max_parallel": 3}
    assert fanout(tmp_path, "unset", "limmits").returncode == 2


def test_a_file_that_is_no_toml_says_what_opens_it(tmp_path: Path) -> None:
    file = tmp_path / "home" / "config.toml"
    file.parent.mkdir()
    file.write_text("[ui\n")
    for words in (("set", "max_steps", "3"), ("unset", "max_steps"), ("get", "max_steps")):
        done = fanout(tmp_path, *words)
        assert (done.returncode, done.stdout) == (2, "")
        assert f"{file}:1:4: " in done.stderr
        assert "`fanout config edit` opens it." in done.stderr
