"""Faults of providers are seen in the console, over real bytes: a line that says what to do, and Esc any time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from console_app.domain import events as ev
from tests.examples import spread
from tests.program.process import Fanout
from tests.program.terminal import Terminal
from tests.tui.lineview.scenes import TinyApp, painted, screen_lines
from tests.wire_bytes import Answer, Text, chat_call, chat_chunk, sse
from tests.wire_server import Cut, Hang, Reply, WireServer

TOO_LONG = "This model's maximum context length is 8192 tokens. However, your messages resulted in 20311 tokens."


def error(status: int, message: str, code: str = "", **headers: str) -> Reply:
    return Reply.json({"error": {"message": message, "code": code}}, status, headers)


# Each with what the screen says.
FAULTS: list[tuple[str, Any, str]] = [
    ("401", error(401, "Incorrect API key"), "key"),
    ("403", error(403, "Not for you"), "403"),
    ("404", error(404, "The model does not exist"), "404|does not exist"),
    ("413", error(413, "Too big"), "413"),
]

# Each states a wait, till whose end nobody asks the endpoint; True where the console would try again by itself and Esc
# ends that.
WAITS: list[tuple[str, Any, str, bool]] = [
    ("429 much later", error(429, "Slow down", **{"Retry-After": "900"}), "15 min|900", False),
    ("429 soon", error(429, "Slow down", **{"Retry-After": "20"}), r"Retrying: attempt 2", True),
    ("500 with HTML", Reply.html("<html><b>Oops</b></html>", 500, {"Retry-After": "30"}), r"Retrying: attempt", True),
    ("503", error(503, "Down", **{"Retry-After": "30"}), r"Retrying: attempt 2", True),
    ("529", error(529, "Overloaded", **{"Retry-After": "30"}), r"Retrying: attempt 2", True),
]


def open_console(folder: Path, server: WireServer) -> Terminal:
    fanout = Fanout(folder)
    environment = fanout.environment({"TERM": "xterm-256color", "OPENAI_API_KEY": "sk-test-000000000"})
    arguments = fanout.argv("--no-mcp", "-m", "openai/m", "--base-url", server.base_url("openai-chat"))
    terminal = Terminal(arguments, env=environment, cwd=fanout.cwd, rows=50, columns=150)
    terminal.expect("Ask, or /")
    return terminal


def test_each_fault_is_told_and_the_console_goes_on(tmp_path: Path) -> None:
    with WireServer() as server, open_console(tmp_path, server) as terminal:
        for name, reply, says in FAULTS:
            asked = len(server.requests)
            server.script(reply)
            terminal.type(f"{name}\r")
            terminal.expect(says)
            terminal.expect("failed ·")
            assert len(server.requests) == asked + 1, name  # never the same request again
            terminal.type("/clear\r")
            terminal.expect_gone("failed ·")
        # The context overflows, so what was said is summed up and the request goes out again.
        asked, overflow = len(server.requests), error(400, TOO_LONG, "context_length_exceeded")
        server.script(overflow, Answer(Text("A summary.")), Answer(Text("All is well.")))
        terminal.type("and now\r")
        terminal.expect(r"All is well\.")
        assert len(server.requests) == asked + 3


@pytest.mark.parametrize(("name", "reply", "says", "again"), spread(WAITS, 3))
def test_each_fault_that_states_a_wait_is_told_and_the_console_goes_on(
    tmp_path: Path, name: str, reply: Any, says: str, again: bool
) -> None:
    with WireServer() as server, open_console(tmp_path, server) as terminal:
        server.script(reply)
        terminal.type(f"{name}\r")
        terminal.expect(says)
        if again:
            terminal.press("escape")
        terminal.expect(r"(failed|stopped) ·")
        terminal.type("/clear\r")
        terminal.expect_gone("(failed|stopped) ·")
        if not again:
            terminal.type("and now\r")
            terminal.expect(says)
            terminal.expect("failed ·")
        assert len(server.requests) == 1


def test_a_context_that_is_full_from_the_start_an_answer_that_is_cut_and_an_empty_one_are_told(tmp_path: Path) -> None:
    with WireServer() as server, open_console(tmp_path, server) as terminal:
        server.script(error(400, TOO_LONG, "context_length_exceeded"))
        terminal.type("go\r")
        terminal.expect(r"20311[\s\S]*/compact")
        terminal.expect("failed ·")
        assert len(server.requests) == 1
        terminal.type("/new\r")
        terminal.expect_gone("failed ·")
        server.script(Reply([chat_chunk({"role": "assistant", "content": "The first half"}), Cut()]))
        terminal.type("go\r")
        terminal.expect("The first half")
        terminal.expect("failed ·")
        terminal.expect("[Cc]ut off|connection")
        terminal.type("/new\r")
        terminal.expect_gone("failed ·")
        asked = len(server.requests)
        server.script(Answer(), Answer())
        terminal.type("go\r")
        terminal.expect("failed ·")
        terminal.expect("empty answer twice; try again, or another model")
        assert len(server.requests) == asked + 2


END = [chat_chunk({}, "stop"), b"data: [DONE]\n\n"]
HALF = chat_chunk({"role": "assistant", "content": "The first half"})
CALL = chat_call(0, id="c1", name="no_such_tool", arguments='{"expression": "6')

# Each with what stands on the screen once the turn is over; the first word says how it ends.
STREAMS: list[tuple[str, list[Any], list[str]]] = [
    (
        "cut in arguments",
        [HALF, CALL, Cut("reset")],
        ["failed ·", "The first half", "invalid", "[Cc]ut off|connection"],
    ),
    (
        "error event",
        [HALF, sse({"error": {"code": "server_error", "message": "worker died"}})],
        ["failed ·", "The first half", "cut off here", "worker died"],
    ),
    ("nothing at all", [], ["failed ·", "answered with nothing"]),
    (
        "bad bytes",
        [chat_chunk({"content": "a XY b"}).replace(b"XY", b"\xff\xfe"), *END],
        ["done ·", "a ��", "not UTF-8"],
    ),
    ("BOM", [b"\xef\xbb\xbf", chat_chunk({"content": "behind a mark"}), *END], ["done ·", "behind a mark"]),
    (
        "separators",
        [chat_chunk({"content": "one\u2028two\u2029three\x85four"}), *END],
        ["done ·", "one.*two.*three.*four"],
    ),
    (
        "nulls",
        [
            chat_chunk({"role": None, "content": None, "tool_calls": None}),
            chat_chunk({"content": ""}),
            chat_chunk({"content": "something after all", "tool_calls": None}),
            *END,
        ],
        ["done ·", "something after all"],
    ),
    ("keep-alives", [*[b": keep-alive\n\n"] * 200, chat_chunk({"content": "awake"}), *END], ["done ·", "awake"]),
    ("not JSON", [HALF, b'data: {"oops\n\n'], ["failed ·", "The first half", "not JSON"]),
]


def test_whatever_an_endpoint_streams_is_shown_or_told(tmp_path: Path) -> None:
    with WireServer() as server, open_console(tmp_path, server) as terminal:
        for name, parts, says in STREAMS:
            server.script(Reply(parts))
            terminal.type(f"{name}\r")
            for part in says:
                terminal.expect(part)
            terminal.expect("Ask, or /")
            terminal.type("/new\r")
            terminal.expect_gone("(failed|done) ·")


def said(server: WireServer, request: int = -1) -> str:
    """Gives the words of the user in a request, as it went out."""
    messages = server.requests[request].body["messages"]
    return "\n".join(str(one["content"]) for one in messages if one["role"] == "user")


def test_a_message_without_an_answer_is_neither_lost_nor_sent_twice(tmp_path: Path) -> None:
    hint = "No answer: /retry sends it again"
    with WireServer() as server, open_console(tmp_path, server) as terminal:
        server.script(error(400, "Refused first"), error(400, "Refused second"))
        terminal.type("apples\r")
        terminal.expect("Refused first")
        terminal.expect(hint)
        terminal.type("/retry\r")  # again, and it fails again
        terminal.expect("Refused second")
        terminal.expect(hint)
        terminal.expect_gone("Refused first")
        assert said(server) == "apples"
        # Another message goes out with it; typed again, that stands once in the request.
        server.script(
            error(400, "Refused third"), Reply.json({"error": {"message": "Down"}}, 503, {"Retry-After": "15"})
        )
        terminal.type("pears\r")
        terminal.expect("Refused third")
        terminal.type("pears\r")
        terminal.expect("Retrying: attempt 2")
        terminal.press("escape")
        terminal.expect("stopped ·")
        terminal.expect(hint)
        for request in (-2, -1):
            assert (said(server, request).count("apples"), said(server, request).count("pears")) == (1, 1)
        server.script(Answer(Text("Both are fruit.")))
        terminal.type("/retry\r")
        terminal.expect(r"Both are fruit\.")
        terminal.expect_gone(hint)
        assert (said(server).count("apples"), said(server).count("pears")) == (1, 1)
        # What has an answer is said again like anything else, and /retry has nothing to do.
        server.script(Answer(Text("As I said.")))
        terminal.type("pears\r")
        terminal.expect(r"As I said\.")
        assert said(server).count("pears") == 2
        asked = len(server.requests)
        terminal.type("/retry\r")
        terminal.expect("No call of the last turn was cut off")
        assert len(server.requests) == asked


def test_a_turn_that_broke_off_says_how_to_go_on(tmp_path: Path) -> None:
    hint = 'What came before stays: write "go on"'
    with WireServer() as server, open_console(tmp_path, server) as terminal:
        server.script(Reply([HALF, sse({"error": {"code": "server_error", "message": "worker died"}})]))
        terminal.type("apples\r")
        terminal.expect("failed ·")
        terminal.expect(hint)
        terminal.type("/retry\r")
        terminal.expect(f"(?s){hint}.*{hint}")
        server.script(Answer(Text("The second half.")))
        terminal.type("go on\r")
        terminal.expect(r"The second half\.")
        assert len(server.requests) == 2
        assert said(server).startswith("apples")
        assert said(server).endswith("go on")


def test_escape_ends_a_turn_whose_endpoint_says_nothing(tmp_path: Path) -> None:
    with WireServer() as server, open_console(tmp_path, server) as terminal:
        server.script(Reply([Hang()]))
        terminal.type("go\r")
        server.wait_requests(1)
        terminal.press("escape")
        terminal.expect("stopped ·")


async def test_a_retry_is_said_and_is_over_with_the_answer() -> None:
    app = TinyApp()
    async with app.run_test(size=(100, 20)) as pilot:
        app.story.turn()
        app.story.send(ev.RetryScheduled, attempt=2, delay=12.0, why="The model is overloaded.")
        await painted(pilot)
        assert any(line.endswith("The model is overloaded. Retrying: attempt 2") for line in screen_lines(app))
        app.story.say("Hello", 14.0)
        await painted(pilot)
        assert any(line.endswith("The model is overloaded. Retried: attempt 2") for line in screen_lines(app))


async def test_a_turn_that_failed_after_all_tries_says_so_once() -> None:
    app = TinyApp()
    async with app.run_test(size=(100, 20)) as pilot:
        app.story.turn()
        app.story.send(ev.RetryScheduled, attempt=3, most=3, delay=0.4, why="connection refused")
        await painted(pilot)
        assert any("connection refused. Retrying: attempt 3 of 3" in line for line in screen_lines(app))
        app.story.send(ev.TurnFinished, outcome="failed", error="lab: the connection was refused (after 3 tries).")
        await painted(pilot)
        lines = [line.strip() for line in screen_lines(app) if line.strip()]
        assert sum("refused" in line for line in lines) == 1, lines
        assert not any("attempt 3" in line for line in lines)
