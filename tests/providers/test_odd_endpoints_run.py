"""`fanout run` says a line or two of endpoints that stray from their format, never a traceback, and ends."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from console_app.domain.safe_text import is_safe
from tests.headless.inside import Inside, process_restored
from tests.providers.odd_anthropic import ANTHROPIC
from tests.providers.odd_chat import CHAT
from tests.providers.odd_endpoints import Odd
from tests.providers.odd_responses import RESPONSES
from tests.wire_bytes import Api
from tests.wire_server import WireServer

PROVIDERS: dict[Api, str] = {"openai-chat": "openai", "openai-responses": "openai-responses", "anthropic": "anthropic"}
# The exit codes; a call of a tool that isn't there goes on to the next step only where its answer came to an end.
CODES = {"a web page": 1, "the stream ends early": 1, "words in place of calls": 0}
TABLES: dict[Api, list[Odd]] = {"openai-chat": CHAT, "openai-responses": RESPONSES, "anthropic": ANTHROPIC}
SHOWN = [(api, odd) for api, table in TABLES.items() for odd in table if odd.what in CODES]


@pytest.fixture
def fanout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Iterator[Inside]:
    with process_restored():
        yield Inside(tmp_path, monkeypatch, capfd)


@pytest.mark.parametrize(("api", "odd"), SHOWN, ids=[f"{api}: {odd.what}" for api, odd in SHOWN])
def test_a_run_ends_with_a_line(fanout: Inside, api: Api, odd: Odd) -> None:
    with WireServer(lambda request: odd.said(1) if b"demo_do" in request.raw else odd.calls(1)) as server:
        url = server.base_url(api)
        arguments = ["-m", f"{PROVIDERS[api]}/m", "--base-url", url, "--mcp", "calculator", "--output-format", "json"]
        done = fanout.run("run", *arguments, "go")
    assert done.code == CODES[odd.what], done.err
    assert "Traceback" not in done.err
    assert is_safe(done.err)
    error = json.loads(done.out)["error"]
    assert error is None if done.code == 0 else f"{error}\n" in done.err
