"""Settings written into a file that a person wrote: comments and order stay, and a bad value changes nothing."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console_app.config.files import Paths
from console_app.config.files.trusted import trust
from console_app.config.settings import MEANINGS, LayeredSettings, Settings
from console_app.config.settings.model import UiSettings
from console_app.config.settings.own_settings import remove_setting, setting_list, write_setting
from console_app.domain.errors import ConfigError, UsageError

FILE = """# mine
max_steps = 7  # enough

# which tools never
never_parallel = [
    "files.*",  # the disk
]

[keys]
"chat.help" = "f2"  # f1 is the terminal's

[providers.local]
base_url = "http://127.0.0.1:8000/v1"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "config.toml"
    path.write_text(FILE)
    return path


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("max_steps", "9", 9),
        ("call_timeout", "2.5", 2.5),
        ("dedupe", "off", False),
        ("approval_mode", "auto", "auto"),
        ("theme", "fjord", "fjord"),
        ("never_parallel", "a.b, c.*", ["a.b", "c.*"]),
        ("limits.files", "2", 2),
        ("limits.files.read_*", "3", 3),
        ("keys.chat.find", "ctrl+y", "ctrl+y"),
        ("providers.local.model", "qwen", "qwen"),
        ("providers.other.context_window", "32000", 32000),
    ],
)
def test_a_setting_is_written_and_everything_else_stays(file: Path, name: str, text: str, value: Any) -> None:
    before = tomllib.loads(FILE)
    assert write_setting(file, name, text) == value
    new = file.read_text()
    for comment in ("# mine", "# enough", "# which tools never", "# f1 is the terminal's"):
        assert comment in new
    after = tomllib.loads(new)
    at: Any = after
    first, *rest = name.split(".")
    parts = [first, ".".join(rest)] if first in ("keys", "limits") else [first, *rest]
    for part in parts:
        at = at[part]
    assert at == value
    assert {key: after[key] for key in before if key != first} == {k: v for k, v in before.items() if k != first}
    Settings.model_validate(after)
    assert file.stat().st_mode & 0o077 == 0


def test_a_setting_is_taken_out_again(file: Path) -> None:
    assert remove_setting(file, "max_steps")
    assert remove_setting(file, "keys.chat.help")
    assert not remove_setting(file, "max_steps")
    assert "max_steps" not in tomllib.loads(file.read_text())
    assert "# mine" in file.read_text()


def test_a_file_is_made_where_there_is_none(tmp_path: Path) -> None:
    write_setting(tmp_path / "new" / "config.toml", "limits.files", "2")
    assert tomllib.loads((tmp_path / "new" / "config.toml").read_text()) == {"limits": {"files": 2}}


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("max_steps", "0", "max_steps should be greater than or equal to 1; not 0."),
        ("max_steps", "many", "max_steps takes a whole number; not many."),
        ("dedupe", "perhaps", "dedupe takes true or false; not perhaps."),
        ("approval_mode", "never", "approval_mode should be 'ask', 'auto'"),
        ("fallback", "gpt", "fallback "),
        ("base_url", "nowhere", "base_url "),
        ("temperature", "nan", "temperature "),
        ("max_stepps", "3", "there is no setting max_stepps. Did you mean max_steps?"),
        ("limits", "3", "limits is a table: name a key of it."),
        ("max_steps.a", "3", "max_steps is no table."),
        ("providers.local.nothing", "3", "there is no setting providers.local.nothing."),
    ],
)
def test_a_bad_value_is_one_line_and_changes_nothing(file: Path, name: str, text: str, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        write_setting(file, name, text)
    assert says in caught.value.line
    assert "\n" not in caught.value.line
    assert file.read_text() == FILE


def test_a_broken_file_is_left_alone(file: Path) -> None:
    file.write_text("max_steps = = 3")
    with pytest.raises(ConfigError, match=r"config\.toml:1:13"):
        write_setting(file, "max_steps", "3")
    assert file.read_text() == "max_steps = = 3"


@given(
    name=st.sampled_from(["theme", "system_prompt", "limits.a.b", "keys.x.y", "never_parallel", "max_steps", "dedupe"]),
    text=st.text(max_size=40),
)
def test_whatever_is_typed_is_refused_in_a_line_or_read_back(
    tmp_path_factory: pytest.TempPathFactory, name: str, text: str
) -> None:
    path = tmp_path_factory.mktemp("any") / "config.toml"
    path.write_text(FILE)
    refused = ""
    try:
        write_setting(path, name, text)
    except UsageError as error:
        refused = error.line
    assert "\n" not in refused
    if refused:
        assert path.read_text() == FILE
    Settings.model_validate(tomllib.loads(path.read_text()))


def test_every_setting_has_a_meaning_and_a_kind(tmp_path: Path) -> None:
    layered = LayeredSettings.load(Paths.find({"FANOUT_HOME": str(tmp_path)}), cwd=tmp_path, flags={}, environ={})
    assert {name.partition(".")[0] for name in MEANINGS} == set(Settings.model_fields)
    assert {name for name in MEANINGS if "." in name} == {f"ui.{name}" for name in UiSettings.model_fields}
    kinds = {one.name: one.kind for one in setting_list(layered)}
    assert kinds["dedupe"] == kinds["ui.motion"] == "bool"
    assert kinds["policy"] == kinds["approval_mode"] == kinds["effort"] == kinds["dispatch"] == "choice"
    assert kinds["max_steps"] == kinds["call_timeout"] == kinds["max_price"] == "number"
    assert kinds["model"] == kinds["mcp_config"] == kinds["base_url"] == "text"
    assert kinds["groups"] == kinds["builtin_tools"] == "list"
    assert kinds["providers"] == kinds["keys"] == "table"


def test_who_set_it_and_what_waits_for_trust(tmp_path: Path) -> None:
    paths = Paths.find({"FANOUT_HOME": str(tmp_path / "home")})
    write_setting(paths.settings, "max_steps", "7")
    write_setting(paths.settings, "ui.motion", "off")
    project = tmp_path / ".fanout" / "config.toml"
    project.parent.mkdir()
    project.write_text('approval_mode = "yolo"\nmax_steps = 3\ndispatch = "batch"\n')

    def look() -> dict[str, tuple[Any, str, str]]:
        layered = LayeredSettings.load(
            paths, cwd=tmp_path, flags={"policy": "single"}, environ={"FANOUT_THEME": "fjord"}
        )
        return {one.name: (one.value, one.source, one.waiting) for one in setting_list(layered)}

    rows = look()
    assert rows["ui.motion"] == (False, str(paths.settings), "")
    assert rows["ui.screen_reader"] == (False, "default", "")
    assert rows["approval_mode"] == ("auto", "default", '"yolo"')
    assert rows["max_steps"] == (7, str(paths.settings), "3")
    assert rows["dispatch"] == ("batch", str(project), "")
    assert rows["policy"] == ("single", "the command line", "")
    assert rows["theme"] == ("fjord", "the environment", "")
    trust(paths, project, project.read_text())
    assert look()["approval_mode"] == ("yolo", str(project), "")
