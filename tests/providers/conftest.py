"""Fixtures of the provider tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.wire_server import WireServer


@pytest.fixture
def server() -> Iterator[WireServer]:
    """A wire server, and the check that its whole script was asked for."""
    with WireServer() as running:
        yield running
