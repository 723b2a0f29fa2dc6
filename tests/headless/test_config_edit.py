"""fanout config list, get, set, unset and edit."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from console_app.config.settings import Settings
from tests.headless.inside import Inside
from tests.program.process import ROOT, Done


@pytest.fixture
def config(fanout: Inside) -> Callable[..., Done]:
    return lambda *words, **environ: fanout.run("config", *words, env=environ)


def test_a_setting_is_set_read_and_unset(tmp_path: Path, config: Callable[..., Done]) -> None:
    done = config("set", "max_steps", "7")
    assert (done.code, done.err) == (0, "")
    file = tmp_path / "home" / "config.toml"
    assert done.out == f"max_steps is set in {file}\n"
    file.write_text(f"# mine\n{file.read_text()}")
    assert config("get", "max_steps").out == "7\n"
    assert config("set", "limits.files", "2").code == 0
    assert json.loads(config("get", "limits.files", "--json").out) == 2
    assert "# mine" in file.read_text()
    assert config("unset", "max_steps").out == f"max_steps is no longer set in {file}\n"
    assert config("get", "max_steps").out == "25\n"


def test_a_theme_that_there_is_not_is_refused_with_what_there_is(tmp_path: Path, config: Callable[..., Done]) -> None:
    done = config("set", "theme", "nosuch")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("fanout: there is no theme nosuch. There are: ")
    assert not (tmp_path / "home" / "config.toml").exists()
    own = tmp_path / "home" / "themes"
    own.mkdir(parents=True)
    (own / "mine.toml").write_text((ROOT / "themes/nord.toml").read_text().replace('name = "nord"', 'name = "mine"'))
    assert config("set", "theme", "mine").code == 0


def test_the_list_says_value_source_and_meaning_of_each(tmp_path: Path, config: Callable[..., Done]) -> None:
    config("set", "dedupe", "no")
    listed = json.loads(config("list", "--json", FANOUT_MAX_STEPS="9").out)["settings"]
    assert {one["name"].partition(".")[0] for one in listed} == set(Settings.model_fields)
    assert config("get", "ui.motion").out == "true\n"
    config("set", "ui.motion", "off")
    assert config("get", "ui.motion").out == "false\n"
    by_name = {one["name"]: one for one in listed}
    assert by_name["dedupe"]["value"] is False
    assert by_name["dedupe"]["source"].endswith("config.toml")
    assert by_name["max_steps"] == {
        "name": "max_steps", "value": 9, "source": "the environment", "kind": "number", "choices": [],
        "meaning": "most requests of a turn", "waits_for_trust": None}  # fmt: skip
    assert "most requests of a turn" in config("list").out


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
def test_what_cannot_be_is_one_line_and_exit_code_2(
    tmp_path: Path, config: Callable[..., Done], words: tuple[str, ...], says: str
) -> None:
    done = config(*words)
    assert done.code == 2
    assert says in done.err
    assert done.err.count("\n") == 1
    assert done.out == ""
    assert not (tmp_path / "home" / "config.toml").exists()


def test_the_projects_file_and_what_outranks_it(tmp_path: Path, config: Callable[..., Done]) -> None:
    assert config("set", "dispatch", "batch", "--project").code == 0
    assert (tmp_path / "work" / ".fanout" / "config.toml").read_text() == 'dispatch = "batch"\n'
    assert "outranks it" in config("set", "dispatch", "eager").out


def test_a_file_that_is_broken_can_be_edited(tmp_path: Path, config: Callable[..., Done]) -> None:
    file = tmp_path / "home" / "config.toml"
    file.parent.mkdir()
    file.write_text("max_steps = = 3\n")
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\necho "max_steps = 4" > "$1"\n')
    editor.chmod(0o700)
    assert config("get", "max_steps").code == 2
    done = config("edit", EDITOR=str(editor))
    assert (done.code, done.out) == (0, f"{file}\n")
    assert config("get", "max_steps").out == "4\n"
    editor.write_text('#!/bin/sh\necho "max_stepps = 4" > "$1"\n')
    done = config("edit", EDITOR=str(editor))
    assert done.code == 2
    assert 'Did you mean "max_steps"?' in done.err


def test_what_is_wrong_in_another_file_keeps_nobody_from_setting(tmp_path: Path, config: Callable[..., Done]) -> None:
    project = tmp_path / "work" / ".fanout" / "config.toml"
    project.parent.mkdir()
    project.write_text("max_steps = = 3\n")
    done = config("set", "max_parallel", "3")
    assert (done.code, done.out) == (0, f"max_parallel is set in {tmp_path / 'home' / 'config.toml'}\n")
    assert f"{project}:1:13: invalid value" in done.err
    assert "`fanout config edit --project` opens it." in done.err
    assert config("unset", "max_parallel").code == 0
    assert config("set", "max_steps", "3", "--project").code == 2


def test_a_file_whose_settings_are_wrong_is_mended_one_by_one(tmp_path: Path, config: Callable[..., Done]) -> None:
    file = tmp_path / "home" / "config.toml"
    file.parent.mkdir()
    file.write_text('max_steps = "many"\nmax_stepps = 3\n[limmits]\nfiles = 2\n')
    assert "max_steps takes a whole number" in config("set", "max_parallel", "3").err
    assert 'unknown key "max_stepps"' in config("set", "max_steps", "4").err
    assert 'unknown key "limmits"' in config("unset", "max_stepps").err
    done = config("unset", "limmits")
    assert (done.code, done.err) == (0, "")
    assert tomllib.loads(file.read_text()) == {"max_steps": 4, "max_parallel": 3}
    assert config("unset", "limmits").code == 2


def test_a_file_that_is_no_toml_says_what_opens_it(tmp_path: Path, config: Callable[..., Done]) -> None:
    file = tmp_path / "home" / "config.toml"
    file.parent.mkdir()
    file.write_text("[ui\n")
    for words in (("set", "max_steps", "3"), ("unset", "max_steps"), ("get", "max_steps")):
        done = config(*words)
        assert (done.code, done.out) == (2, "")
        assert f"{file}:1:4: " in done.err
        assert "`fanout config edit` opens it." in done.err
