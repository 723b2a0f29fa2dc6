"""A working folder that is no text, or that is not there any more: its name may hold any bytes, and nothing is lost."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from console_app.sessions import PromptDrafts
from tests.headless.inside import Inside


@pytest.fixture
def folder(fanout: Inside, tmp_path: Path) -> Path:
    """A folder of Latin-1 times, as the working folder."""
    try:
        os.mkdir(os.fsencode(tmp_path) + b"/caf\xe9")
    except OSError:
        pytest.skip("this file system takes UTF-8 alone")
    fanout.cwd = tmp_path / "caf\udce9"
    return fanout.cwd


def test_a_session_of_a_folder_that_is_no_text_is_kept_and_gone_on_with(fanout: Inside, folder: Path) -> None:
    for flags in ((), ("-c",)):
        done = fanout.run("run", "--no-mcp", "-m", "offline/rehearsal", *flags, "hello")
        assert (done.code, done.err) == (0, "")
    [session] = [json.loads(line) for line in fanout.run("sessions", "list", "--jsonl").out.splitlines()]
    assert (session["turns"], session["folder"]) == (2, f"{folder.parent}/caf\ufffd")


def test_servers_of_a_folder_that_is_no_text_are_trusted_and_listed(fanout: Inside, folder: Path) -> None:
    fanout.write_servers("mcp.json")
    assert fanout.run("mcp", "trust", "--yes").code == 0
    listed = fanout.run("mcp", "list", "--json", "--mcp", "calculator")
    assert json.loads(listed.out)["file"] == f"{folder.parent}/caf\ufffd/mcp.json"


def test_a_file_of_a_folder_that_is_no_text_goes_along(fanout: Inside, folder: Path) -> None:
    (folder / "note.txt").write_text("the word is blue")
    done = fanout.run("run", "--no-mcp", "-m", "offline/rehearsal", "--output-format", "stream-json", "read @note.txt")
    assert (done.code, done.err) == (0, "")
    assert "the word is blue" in done.out


def test_a_batch_runs_in_a_folder_that_is_no_text(fanout: Inside, folder: Path) -> None:
    (folder / "items.jsonl").write_text('{"text": "hello"}\n')
    done = fanout.run("batch", "items.jsonl", "--no-mcp", "--prompt", "{text}", "-o", "out.jsonl")
    assert done.code == 0, done.err
    assert json.loads((folder / "out.jsonl").read_text())["status"] == "completed"


def test_the_draft_of_a_folder_that_is_no_text_has_a_name(folder: Path) -> None:
    assert PromptDrafts.of_new(folder) != PromptDrafts.of_new(folder.parent)


@pytest.mark.parametrize("command", [("run", "hello"), ("sessions", "list"), ("config", "path")])
def test_a_folder_that_is_gone_is_said_in_one_line(fanout: Inside, tmp_path: Path, command: tuple[str, ...]) -> None:
    before = Path.cwd()
    gone = tmp_path / "gone"
    gone.mkdir()
    try:
        os.chdir(gone)
        gone.rmdir()
        done = fanout.run_here(*command)
        there = fanout.run_here("-C", str(tmp_path), "config", "path")
    finally:
        os.chdir(before)
    line = "fanout: the working folder is not there any more. Go to another, or name one: -C DIR.\n"
    assert (done.code, done.err) == (2, line)
    assert there.code == 0


def test_a_home_that_can_not_be_is_named(fanout: Inside, tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("no folder")
    home = str(tmp_path / "plain" / "home")  # which the bundled servers are given in their environment
    done = fanout.run("run", "--mcp", "calculator", "-m", "offline/rehearsal", "hello", env={"FANOUT_HOME": home})
    assert f"Sessions: {home}/data/sessions.db: Not a directory" in done.err
