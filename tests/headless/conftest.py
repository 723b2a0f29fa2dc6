"""A `fanout` inside the test's process, and a model's endpoint on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.headless.inside import Inside, process_restored
from tests.wire_server import WireServer


@pytest.fixture
def fanout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Iterator[Inside]:
    with process_restored():
        yield Inside(tmp_path, monkeypatch, capfd)


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer() as running:
        yield running
