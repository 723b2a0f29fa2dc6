"""`fanout config`, `themes`, `models` and `mcp`: what they print, and the files they read."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.headless.inside import Inside


def test_every_path_is_shown(fanout: Inside) -> None:
    done = fanout.run("config", "path")
    assert done.code == 0
    assert f"settings          {fanout.home / 'config.toml'}  (not there)" in done.out
    assert f"log               {fanout.home / 'state' / 'fanout.log'}\n" in done.out


def test_every_setting_is_shown_with_who_said_it_and_no_secret(fanout: Inside) -> None:
    fanout.write(
        "home/config.toml",
        'theme = "plum"\n[providers.own]\napi = "anthropic"\nmodel = "m"\nheaders = { x-key = "sk-secret" }\n'
        '[rules]\nallow = ["git.log"]\n',
    )
    done = fanout.run("config", "show", "--policy", "single", env={"FANOUT_MAX_STEPS": "7"})
    assert done.code == 0
    assert 'policy = "single"  # the command line' in done.out
    assert "max_steps = 7  # the environment" in done.out
    assert f'theme = "plum"  # {fanout.home / "config.toml"}' in done.out
    assert "rule: allow git.log" in done.out
    assert "offline/rehearsal answers (no key is set)" in done.out
    assert "sk-secret" not in done.out


def test_validate_says_that_all_is_well_or_what_is_not(fanout: Inside) -> None:
    assert fanout.run("config", "validate").code == 0
    fanout.write("home/config.toml", 'theme = "plum"\nmodle = "x"')
    done = fanout.run("config", "validate")
    assert done.code == 2
    assert 'config.toml:2:1: unknown key "modle". Did you mean "model"?' in done.err
    fanout.write("home/config.toml", "")
    fanout.write("home/mcp.json", '{"mcpServers": {"a": {"comand": "x"}}}')
    done = fanout.run("config", "validate", env={"FANOUT_MODLE": "x"})
    assert done.code == 2
    assert "mcpServers.a.comand" in done.err
    assert "FANOUT_MODLE is no setting" in done.err


@pytest.mark.parametrize("command", [["run", "hi"], ["config", "show"], ["mcp", "list"], ["themes"]])
def test_a_broken_settings_file_is_one_line_and_exit_code_2(fanout: Inside, command: list[str]) -> None:
    fanout.write("home/config.toml", "theme = \n")
    done = fanout.run(*command)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "config.toml:1:9: invalid value" in done.err


def test_a_broken_mcp_json_is_told_with_line_and_column(fanout: Inside) -> None:
    fanout.write("home/mcp.json", '{"mcpServers":\n  {"a": }}')
    done = fanout.run("run", "hi")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "mcp.json:2:9" in done.err


def test_themes_are_listed_and_a_broken_one_is_told(fanout: Inside) -> None:
    done = fanout.run("themes", env={"FANOUT_THEME": "plum"})
    assert done.code == 0
    assert "* plum" in done.out
    assert "  fanout-light" in done.out
    fanout.write("home/themes/mine.toml", 'name = "mine"\n[colors]\nbackground = "blue-ish"\n')
    done = fanout.run("themes")
    assert done.code == 1
    assert "mine.toml" in done.err


def test_servers_are_listed_with_their_state(fanout: Inside) -> None:
    servers = {
        "good": {"command": sys.executable, "args": ["-m", "console_app.servers.calculator"]},
        "bad": {"command": "no-such-program-anywhere"},
        "off": {"command": "x", "disabled": True},
    }
    fanout.write("home/mcp.json", json.dumps({"mcpServers": servers}))
    servers["good"]["env"] = {"PYTHONPATH": str(Path(__file__).parents[2])}
    fanout.write("home/mcp.json", json.dumps({"mcpServers": servers}))
    done = fanout.run("mcp", "list")
    assert done.code == 0
    assert "✓ good             ready      1 tool" in done.out
    assert "✗ bad              failed" in done.out
    assert "○ off              disabled" in done.out
    done = fanout.run("mcp", "test", "good")
    assert done.code == 0
    assert "good.evaluate" in done.out
    done = fanout.run("mcp", "test", "bad")
    assert done.code == 1
    assert "no-such-program-anywhere" in done.err


def test_a_projects_servers_start_only_after_they_were_trusted(fanout: Inside) -> None:
    mark = fanout.cwd / "started"
    program = ["-c", f"open({str(mark)!r}, 'w')"]
    project = fanout.write(
        "mcp.json", json.dumps({"mcpServers": {"theirs": {"command": sys.executable, "args": program}}})
    )
    done = fanout.run("run", "Calculate 1+1")
    assert done.code == 0
    assert done.err.startswith(f"{project} is not used")
    assert "fanout trust" in done.err
    assert not mark.exists()
    done = fanout.run("mcp", "trust", "--yes")
    assert done.code == 0
    assert "is trusted as it is now: theirs." in done.out
    done = fanout.run("mcp", "list")
    assert "theirs" in done.out
    assert mark.exists()
    project.write_text(project.read_text() + " ")
    assert "is not used" in fanout.run("mcp", "list").err


def test_what_a_projects_settings_loosen_is_shown_waits_for_trust_and_is_said_when_it_counts(fanout: Inside) -> None:
    file = fanout.write(
        ".fanout/config.toml", 'model = "scripted/evil.toml"\ndispatch = "batch"\n[rules]\nallow = ["*"]\n'
    )
    validated = fanout.run("config", "validate")
    assert validated.code == 2
    assert "it sets model, rules.allow" in validated.err
    assert 'waits for trust: model = "scripted/evil.toml"' in validated.out
    shown = fanout.run("config", "show").out
    assert "# offline" in shown
    assert 'dispatch = "batch"' in shown
    assert "rule: allow *" not in shown

    asked = fanout.run("mcp", "trust")
    assert asked.code == 2  # nobody can be asked
    assert f"{file} would set:" in asked.out
    assert '    rules.allow = ["*"]' in asked.out
    assert "# offline" in fanout.run("config", "show").out

    done = fanout.run("mcp", "trust", "--yes")
    assert f"{file} is trusted as it is now: model, dispatch, rules." in done.out
    shown = fanout.run("config", "show").out
    assert "scripted/evil.toml" in shown
    assert "rule: allow *" in shown
    listed = fanout.run("mcp", "list", "--no-mcp").err
    assert f'{file}, which you trusted, sets: model = "scripted/evil.toml" · rules.allow = ["*"]' in listed

    file.write_text(file.read_text() + "\n")
    assert "# offline" in fanout.run("config", "show").out
