"""A `fanout` inside the test's process, with a home and a working folder of its own."""

from __future__ import annotations

from tests.headless.conftest import fanout, server

__all__ = ["fanout", "server"]
