"""A line of an editor that is no proper message is answered or passed over, and ends nothing."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from console_app.acp_agent import json_lines
from tests.patience import PATIENCE
from tests.program.process import Fanout


def _request(number: Any, method: str, **params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode()


def test_nothing_but_answers_comes_back_whatever_is_written(tmp_path: Path) -> None:
    fanout = Fanout(tmp_path)
    fanout.write("home/mcp.json", '{"mcpServers": {}}')
    server = {"name": "x", "command": "", "args": [], "env": []}
    initialize = _request("i", "initialize", protocolVersion=99)
    lines = [
        b"{broken", b"[1]", b"5", b'"x"', b"null", b"", b"\xff\xfe", b"[" * 100_000, b'{"id": {}, "method": "x"}',
        b'{"jsonrpc": "2.0", "id": [1], "result": {}}', b'{"jsonrpc": "2.0", "id": 7, "result": {}}', b"{}",
        b'{"jsonrpc": "2.0", "method": "no/such"}', b'{"jsonrpc": "2.0", "method": "session/cancel"}',
        _request(1, "no/such"), _request(2, "session/new"), _request(3, "authenticate", methodId="any"), initialize,
        _request(4, "session/new", cwd=str(fanout.cwd), mcpServers=[]),
        _request(5, "session/prompt", sessionId="none", prompt=[{"type": "text", "text": "\ud800"}]),
        _request(6, "session/new", cwd=str(fanout.cwd), mcpServers=[server]),
        *(_request(1000 + number, "no/such") for number in range(2000)),
    ]  # fmt: skip
    (tmp_path / "lines").write_bytes(b"\n".join(lines))  # the last line has no end: the editor died
    with (tmp_path / "lines").open() as file:  # which no event loop can wait for
        process = fanout.start("acp", stdin=file)
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (0, b"")
    answers: list[dict[str, Any]] = [json.loads(line) for line in out.splitlines()]
    assert all(one["jsonrpc"] == "2.0" for one in answers)
    codes = {one["id"]: one["error"]["code"] for one in answers if "error" in one and one["id"] is not None}
    assert {number: codes[number] for number in (1, 2, 4, 5, 6)} == {
        1: -32601,
        2: -32602,
        4: -32000,
        5: -32002,
        6: -32602,
    }
    assert sum(code == -32601 for code in codes.values()) == 2001
    assert [one["error"]["code"] for one in answers if one["id"] is None] == [
        -32700, -32600, -32600, -32600, -32600, -32700, -32700, -32600
    ]  # fmt: skip
    by_id = {one["id"]: one for one in answers}
    assert by_id["i"]["result"]["protocolVersion"] == 1
    assert by_id["i"]["result"]["agentCapabilities"]["loadSession"] is True
    can = by_id["i"]["result"]["agentCapabilities"]["sessionCapabilities"]
    assert can == {"list": {}, "resume": {}, "close": {}, "delete": {}, "additionalDirectories": {}}
    assert by_id[3]["result"] == {}
    assert "keep one with `fanout auth set`" in by_id[4]["error"]["message"]


def test_without_the_extra_it_says_what_to_install(tmp_path: Path) -> None:
    fanout = Fanout(tmp_path)
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden" / "acp.py").write_text("raise ModuleNotFoundError('no', name='acp')\n")
    path = f"{tmp_path / 'hidden'}:{fanout.environment()['PYTHONPATH']}"
    done = fanout.run("acp", env={"PYTHONPATH": path})
    assert done.code == 2
    assert "fanout: an agent of an editor needs acp, which is not installed. Install it with: " in done.err
    assert "acp" in done.err.rpartition("[")[2]
    assert not done.out


def test_a_line_has_an_end_however_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_lines, "LONGEST", 10)

    def pieces(*of: bytes) -> Iterator[bytes | None]:
        left = iter((*of, b""))
        return json_lines.lines(lambda: next(left))

    assert list(pieces(b"ab", b"c\nd", b"\n", b"e")) == [b"abc", b"d", b"e"]
    assert list(pieces(b"x" * 8, b"y" * 8, b"z\nnext\n")) == [None, b"next", b""]
    assert list(pieces(b"x" * 10 + b"\n")) == [b"x" * 10, b""]
    assert list(pieces(b"x" * 11)) == [None]
    assert json_lines.read(None) == -32600

    def gone() -> bytes:
        raise OSError

    assert list(json_lines.lines(gone)) == [b""]


def test_halves_of_characters_are_none() -> None:
    assert json_lines.read(rb'{"id": 1, "method": "m", "params": {"\udc00": ["a\ud83d\ude00", "\ud800"]}}') == {
        "id": 1, "method": "m", "params": {"\ufffd": ["a\U0001f600", "\ufffd"]}
    }  # fmt: skip


async def test_a_prompt_is_taken_back_whatever_number_a_request_of_ours_has() -> None:
    reads, writes = os.pipe()
    lines = json_lines.JsonLines(_Written(), reads)
    prompt = _request(0, "session/prompt", sessionId="one")
    back = b'{"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": 0}}'
    os.write(writes, b"%s\n%s\n" % (prompt, back))
    assert (await lines.receive() or {})["id"] == 0
    await lines.send({"id": 0, "method": "session/request_permission", "params": {}})
    stop = {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "one"}}
    assert await lines.receive() == stop
    await lines.send({"id": 0, "result": {}})
    os.write(writes, back + b"\n")
    os.close(writes)
    assert await lines.receive() is None
    os.close(reads)


async def test_whoever_tells_much_lets_others_go_on() -> None:
    reads, writes = os.pipe()
    os.close(writes)
    lines = json_lines.JsonLines(_Written(), reads)
    had_their_turn: list[int] = []
    asyncio.get_running_loop().call_soon(had_their_turn.append, 1)
    await lines.room()
    assert had_their_turn
    assert await lines.receive() is None
    os.close(reads)


class _Written:
    """A writer whose bytes nobody reads."""

    def out(self, text: str) -> None:
        pass

    async def drain(self) -> None:
        pass
