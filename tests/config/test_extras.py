"""The command that installs an extra: for where the package came from, and for what installed it."""

from __future__ import annotations

import json
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from console_app.config.machine import extras

FOLDER = {"url": "file:///a%20folder/fanout", "dir_info": {}}
PIP = f"{sys.executable} -m pip install"


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        (None, f"{PIP} 'fanout-console[web]'"),
        (FOLDER, f"{PIP} '/a folder/fanout[web]'"),
        ({**FOLDER, "dir_info": {"editable": True}}, f"{PIP} --editable '/a folder/fanout[web]'"),
        ({"url": "file:///f.whl", "archive_info": {}}, f"{PIP} 'fanout-console[web] @ file:///f.whl'"),
        (
            {"url": "https://git.example/f.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}},
            f"{PIP} 'fanout-console[web] @ git+https://git.example/f.git@abc'",
        ),
    ],
)
def test_the_command_names_where_it_came_from(
    origin: dict[str, object] | None, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed_from(origin, tmp_path, monkeypatch)
    assert extras.how_to_install("web") == f"Install it with: {command}"


@pytest.mark.parametrize(
    ("receipt", "command"), [("pipx_metadata.json", "pipx install"), ("uv-receipt.toml", "uv tool install")]
)
def test_what_installed_the_program_installs_its_extra(
    receipt: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed_from(FOLDER, tmp_path, monkeypatch)
    (tmp_path / receipt).touch()
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert extras.how_to_install("dask") == f"Install it with: {command} --force '/a folder/fanout[dask]'"


def test_the_command_keeps_the_extras_that_are_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """uv and pipx install anew: what isn't named goes."""
    wanted = {"acp": ["pydantic"], "dask": ["httpx2", "no-such-library"], "programs": ["no-such-other"]}
    requires = "".join(
        f"Requires-Dist: {library} ; extra == '{extra}'\n" for extra, found in wanted.items() for library in found
    )
    requires += "Requires-Dist: fanout-console[acp,dask] ; extra == 'all'\n"
    installed_from(FOLDER, tmp_path, monkeypatch, requires)
    assert extras.how_to_install("web") == f"Install it with: {PIP} '/a folder/fanout[acp,web]'"


def test_the_extra_all_brings_every_other() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    others = {name for name in project["optional-dependencies"] if name != extras.ALL}
    assert project["optional-dependencies"][extras.ALL] == [f"fanout-console[{','.join(sorted(others))}]"]


def test_the_extras_and_what_is_there_of_them() -> None:
    found = extras.optional()
    assert {name: extra for name, (extra, _) in found.items()} == {
        "agent-client-protocol": "acp",
        "cryptography": "dask",
        "ddgs": "search",
        "distributed": "dask",
        "opentelemetry-exporter-otlp-proto-http": "trace",
        "opentelemetry-sdk": "trace",
        "pydantic-monty": "programs",
        "python-pptx": "slides",
        "starlette": "web",
        "uvicorn": "web",
        "websockets": "web",
    }
    assert all(version for _, version in found.values())


def installed_from(
    origin: dict[str, object] | None, folder: Path, monkeypatch: pytest.MonkeyPatch, requires: str = ""
) -> None:
    """A package of the name, as an installer writes it, found before the real one."""
    info = folder / "fanout_console-9.9.9.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: fanout-console\nVersion: 9.9.9\n" + requires)
    if origin is not None:
        (info / "direct_url.json").write_text(json.dumps(origin))
    monkeypatch.syspath_prepend(folder)
    assert metadata.version("fanout-console") == "9.9.9"
