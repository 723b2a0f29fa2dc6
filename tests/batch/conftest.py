"""The command line inside the test's process, as a program of its own, and a model's endpoint on this machine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.headless.inside import Inside, process_restored
from tests.program.process import Fanout
from tests.wire_server import WireServer


@pytest.fixture
def fanout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Iterator[Inside]:
    with process_restored():
        yield Inside(tmp_path, monkeypatch, capfd)


@pytest.fixture
def program(tmp_path: Path) -> Fanout:
    return Fanout(tmp_path)


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer() as running:
        yield running


def results(path: Path) -> dict[str, dict[str, Any]]:
    """The newest result of each item."""
    return {one["id"]: one for one in map(json.loads, path.read_text().splitlines())}
