"""The error lines on the page about trouble are those that Fanout prints."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.markdown import ROOT
from tests.headless.inside import Inside, process_restored

PAGE = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
NOWHERE = "http://localhost:9/v1"  # the port of discard, where nothing answers
CASES = {
    "openai needs a key": ("run", "-m", "openai/gpt-5", "hi there"),
    "the connection was refused": ("models", "--base-url", NOWHERE, "-m", "openai/gpt-5"),
    'no provider is called "foo"': ("run", "-m", "foo/bar", "hi there"),
    "no command 'frob'": ("frob",),
    'unknown key "max_step"': ("config", "validate"),
    "the console needs a terminal": (),
}


@pytest.fixture
def fanout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Iterator[Inside]:
    with process_restored():
        yield Inside(tmp_path, monkeypatch, capfd)


def quoted() -> list[str]:
    return re.findall(r"^\| `([^`]+)` \|", PAGE, re.MULTILINE)


def test_every_line_on_the_page_is_tried() -> None:
    assert [line for line in quoted() if not line.startswith(tuple(CASES))] == []
    assert len(quoted()) == len(CASES)


@pytest.mark.parametrize("begins", CASES)
def test_the_line_is_printed(fanout: Inside, begins: str) -> None:
    if "max_step" in begins:
        fanout.write("home/config.toml", "max_step = 3\n")
    line = next(line for line in quoted() if line.startswith(begins))
    done = fanout.run(*CASES[begins])
    assert line in done.err + done.out
