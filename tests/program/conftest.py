"""Most tests of the program as a process begin with these."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.program.process import Fanout
from tests.wire_server import WireServer


@pytest.fixture
def fanout(tmp_path: Path) -> Fanout:
    return Fanout(tmp_path)


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer() as running:
        yield running
