"""What is asked before a project's files are trusted: all of it, whole."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from console_app.config.paths import Paths, project_mcp, project_settings
from console_app.config.trust_report import LONGEST_LINE, ProjectTrust
from console_app.domain.errors import ConfigError


@pytest.fixture
def project(tmp_path: Path) -> ProjectTrust:
    (tmp_path / "work" / ".fanout" / "commands").mkdir(parents=True)
    return ProjectTrust(Paths.find({"FANOUT_HOME": str(tmp_path / "home")}), tmp_path / "work", {})


def write(project: ProjectTrust, argument: str) -> None:
    """The same long text in each file that takes trust."""
    entry = {"command": "sh", "args": ["-c", argument], "cwd": f"/{argument}", "env": {argument: "x"}}
    servers = {"mine": entry, "far": {"url": f"http://{argument}@evil.test/"}}
    project_mcp(project.folder).write_text(json.dumps({"mcpServers": servers}))
    project_settings(project.folder).write_text(f'system_prompt = "{argument}"\n')
    (project.folder / ".fanout" / "commands" / "go.md").write_text(argument)


def test_what_is_behind_ten_thousand_characters_is_shown_too(project: ProjectTrust) -> None:
    write(project, "x" * 10_000 + "EVIL")
    shown = {file.path.suffix: "\n".join(file.lines) for file in project.waiting()}
    assert {suffix: text.count("EVIL") for suffix, text in shown.items()} == {".json": 4, ".toml": 1, ".md": 1}
    assert "@evil.test/" in shown[".json"]


@pytest.mark.parametrize("name", ["mcp.json", ".fanout/config.toml", ".fanout/commands/go.md"])
def test_what_nobody_reads_to_its_end_can_not_be_trusted(project: ProjectTrust, name: str) -> None:
    write(project, "x" * LONGEST_LINE)
    for other in ("mcp.json", ".fanout/config.toml", ".fanout/commands/go.md"):
        if other != name:
            (project.folder / other).unlink()
    with pytest.raises(ConfigError, match="nobody reads that before a yes") as raised:
        project.waiting()
    assert name in raised.value.line
    assert len(raised.value.line) < 1_000


def test_which_files_wait_is_one_line(project: ProjectTrust) -> None:
    write(project, "x")
    assert project.summary() == ("mcp.json, .fanout/config.toml and a command of this project wait for your trust")
    for file in project.waiting()[:2]:
        project.trust(file)
    assert project.summary() == "a command of this project waits for your trust"


def test_fanouts_own_servers_need_no_trust_in_its_checkout(project: ProjectTrust) -> None:
    write(project, "x")
    in_checkout = replace(project, bundled=project_mcp(project.folder))
    assert in_checkout.summary() == ".fanout/config.toml and a command of this project wait for your trust"
    assert replace(project, bundled=Path(__file__)).summary() == project.summary()


def test_settings_that_only_tighten_are_not_told_of(project: ProjectTrust) -> None:
    project_settings(project.folder).write_text("max_steps = 3\n")
    tightening = ProjectTrust(project.known, project.folder, {}, settings_wait=False)
    assert (project.summary(), tightening.summary()) == (
        ".fanout/config.toml of this project waits for your trust",
        "",
    )
