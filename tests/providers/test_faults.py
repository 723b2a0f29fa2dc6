"""A fault between here and a model is one line: what failed, where, what to do next."""

from __future__ import annotations

import asyncio
import gzip
import socket
from typing import Any

import pytest

from console_app.domain.errors import AnswerInterrupted, ContextOverflow, ProviderError, ToolsRefused
from tests.providers.reading import (
    ASK,
    KEY,
    Waits,
    answer_to,
    calls_of,
    failure_of,
    notices_of,
    provider_at,
    read,
    retries_of,
    text_of,
)
from tests.wire_bytes import (
    APIS,
    KEEP_ALIVE,
    Answer,
    Api,
    Call,
    Text,
    anthropic_delta,
    anthropic_start,
    chat_chunk,
    responses_event,
    sse,
)
from tests.wire_server import Cut, Hang, Pause, Reply, WireServer, free_port

every_api = pytest.mark.parametrize("api", APIS)


def refusal(status: int, message: str, headers: dict[str, str] | None = None, **fields: Any) -> Reply:
    """An error as all three APIs word it."""
    return Reply.json({"type": "error", "error": {"type": "some_error", "message": message, **fields}}, status, headers)


# -- before anything is sent


@every_api
async def test_refused_connection(api: Api, server: WireServer) -> None:
    port = free_port()
    waits = Waits()
    provider = provider_at(server, api, waits, base_url=f"http://127.0.0.1:{port}/v1")
    chunks, error = await read(provider)
    await provider.close()
    assert error is not None
    assert f"127.0.0.1:{port}/v1: the connection was refused (after 3 tries). Is the server running" in error.line
    assert [retry.why for retry in retries_of(chunks)] == ["connection refused"] * 2


@every_api
async def test_unknown_host(api: Api, server: WireServer) -> None:
    provider = provider_at(server, api, base_url="http://no-such-host.invalid/v1")
    _, error = await read(provider)
    await provider.close()
    assert error is not None
    assert "no such host: no-such-host.invalid" in error.line


@every_api
async def test_a_secure_connection_to_a_server_without_one(api: Api, server: WireServer) -> None:
    provider = provider_at(server, api, base_url=server.base_url(api).replace("http:", "https:"))
    _, error = await read(provider)
    await provider.close()
    assert error is not None
    assert "no secure connection" in error.line
    assert "Should the base URL begin with http:// instead?" in error.line


@every_api
async def test_a_host_that_never_answers_the_handshake(api: Api, server: WireServer) -> None:
    with socket.create_server(("127.0.0.1", 0)) as never_accepting:
        port = never_accepting.getsockname()[1]
        provider = provider_at(server, api, base_url=f"https://127.0.0.1:{port}", connect_timeout=0.1, max_tries=2)
        chunks, error = await read(provider)
        await provider.close()
    assert error is not None
    assert "no connection within 0.1 s (after 2 tries)" in error.line
    assert len(retries_of(chunks)) == 1


@every_api
async def test_a_base_url_that_is_none(api: Api, server: WireServer) -> None:
    provider = provider_at(server, api, base_url="nonsense")
    _, error = await read(provider)
    await provider.close()
    assert error is not None
    assert "Check the base URL" in error.line


@every_api
async def test_silence_ends_with_a_line(api: Api, server: WireServer) -> None:
    chunks, error = await failure_of(server, api, Reply([KEEP_ALIVE, Hang()]), read_timeout=0.1)
    assert not retries_of(chunks)
    assert "nothing came for 0.1 s" in error.line


# -- refused by status


@every_api
@pytest.mark.parametrize(
    ("status", "says"),
    [
        (401, "did not accept the key (401): told (hidden)"),
        (403, "refused the request (403)"),
        (404, "knows no model test-model, or no such path (404)"),
        (413, "the request is too large (413)"),
        (422, "refused the request (HTTP 422)"),
        (400, "refused the request (HTTP 400)"),
    ],
)
async def test_a_wrong_request_is_never_sent_twice(server: WireServer, api: Api, status: int, says: str) -> None:
    chunks, error = await failure_of(server, api, refusal(status, f"told {KEY}", {"x-should-retry": "true"}))
    assert says in error.line
    assert error.status == status
    assert not chunks
    assert len(server.requests) == 1


@every_api
@pytest.mark.parametrize("status", [401, 403])
async def test_without_a_key_a_refusal_says_where_one_is_looked_for(server: WireServer, api: Api, status: int) -> None:
    _, error = await failure_of(server, api, refusal(status, "who are you?"), api_key=None, key_hint="Set LAB_KEY.")
    assert f"unauthorized ({status}): who are you?" in error.line
    assert error.hint == "Set LAB_KEY."


@every_api
async def test_a_redirect_is_not_followed(server: WireServer, api: Api) -> None:
    """The key would go with it."""
    _, error = await failure_of(server, api, Reply([], 307, {"Location": "http://127.0.0.1:1/elsewhere"}))
    assert "redirects to http://127.0.0.1:1/elsewhere (307)" in error.line
    assert len(server.requests) == 1


@every_api
async def test_a_server_error_with_a_web_page(server: WireServer, api: Api) -> None:
    page = Reply.html("<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>", 502)
    chunks, error = await failure_of(server, api, *[page] * 5)
    assert "failed (HTTP 502): 502 Bad Gateway (after 5 tries)" in error.line
    assert len(retries_of(chunks)) == 4


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens."),
        (400, "prompt is too long: 210000 tokens > 200000 maximum"),
        (400, "the request exceeds the available context size. try increasing the context size"),
        (400, "input length and `max_tokens` exceed context limit: 199900 + 32000 > 200000"),
        (413, "Request too large: please reduce the length of the messages"),
        (500, "This model's maximum prompt length is 131072 but the request contains 200000 tokens."),
        (400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."),
    ],
)
async def test_a_context_overflow_shows_the_sizes(server: WireServer, status: int, message: str) -> None:
    _, error = await failure_of(server, "openai-chat", refusal(status, message))
    assert isinstance(error, ContextOverflow)
    assert message.split(".")[0] in error.line
    assert "/compact" in error.line
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "registry.ollama.ai/library/tiny:latest does not support tools"),
        (400, "Invalid value: 'tool'. Supported values are: 'system', 'assistant', and 'user'."),
        (500, "Unsupported role: tool"),
        (422, "messages[2].role: unknown variant `tool`, expected one of `system`, `user`, `assistant`"),
        (400, "Only user and assistant roles are supported!"),
        (400, "role 'tool' is not supported"),
        (404, "No endpoints found that support tool use. To learn more, see the documentation."),
        (400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
        (500, "tools param requires --jinja flag"),
        (422, "Function calling is not enabled for this model"),
        (400, "Unrecognized request argument supplied: tools"),
    ],
)
async def test_a_model_without_tools_is_told_apart(server: WireServer, status: int, message: str) -> None:
    _, error = await failure_of(server, "openai-chat", refusal(status, message))
    assert isinstance(error, ToolsRefused)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "message",
    [
        "Invalid 'tools': array too long. Expected an array with maximum length 128, but got one with length 151.",
        "Too many tools provided: 151. The maximum is 128.",
        "The maximum number of functions is 128.",
        "At most 64 function declarations are supported: the tools exceed the limit.",
    ],
)
@every_api
async def test_too_many_tools_say_what_to_do(server: WireServer, api: Api, message: str) -> None:
    _, error = await failure_of(server, api, refusal(400, message))
    assert not isinstance(error, ToolsRefused | ContextOverflow)
    assert error.line.endswith("off with /mcp.")
    assert len(server.requests) == 1
    _, error = await failure_of(server, api, refusal(500, message), max_tries=1)
    assert "failed (HTTP 500)" in error.line


@every_api
async def test_used_up_credit_is_not_waited_for(server: WireServer, api: Api) -> None:
    message = "You exceeded your current quota, please check your plan and billing details."
    _, error = await failure_of(server, api, refusal(429, message, code="insufficient_quota"))
    assert "credit or quota is used up" in error.line
    assert len(server.requests) == 1


@every_api
async def test_an_error_in_a_shape_of_its_own(server: WireServer, api: Api) -> None:
    for body in ({"error": "plain words"}, {"detail": "plain words"}, {"message": "plain words"}):
        _, error = await failure_of(server, api, Reply.json(body, 400))
        assert "plain words" in error.line
    _, error = await failure_of(server, api, Reply([b"plain\nwords"], 400, content_type="text/plain"))
    assert "plain words" in error.line


@every_api
async def test_foreign_words_can_not_move_the_cursor(server: WireServer, api: Api) -> None:
    _, error = await failure_of(server, api, refusal(400, "\x1b]52;c;aGk=\x07\x1b[2J\u202eevil\nnext"))
    assert "\x1b" not in error.line
    assert "\u202e" not in error.line


# -- answers that are none


@every_api
async def test_a_web_page_in_place_of_a_stream(server: WireServer, api: Api) -> None:
    page = Reply([b"\n <!DOCTYPE html><html><head><title>Sign in &amp; go</title></head></html>"])
    _, error = await failure_of(server, api, page)
    assert "answered with a web page (Sign in &amp; go) in place of a model's answer. Check the base URL" in error.line
    assert server.url in error.line


@every_api
async def test_an_empty_200(server: WireServer, api: Api) -> None:
    _, error = await failure_of(server, api, Reply([]))
    assert "answered with nothing" in error.line


@every_api
async def test_plain_words_with_status_200(server: WireServer, api: Api) -> None:
    _, error = await failure_of(server, api, Reply([b"upstream says no"]))
    assert "answered with" in error.line


@every_api
async def test_json_that_is_no_answer(server: WireServer, api: Api) -> None:
    _, error = await failure_of(server, api, Reply.json({"hello": "world"}))
    assert 'no model\'s answer (application/json): {"hello": "world"}' in error.line


@every_api
async def test_an_error_as_json_with_status_200(server: WireServer, api: Api) -> None:
    _, error = await failure_of(server, api, Reply.json({"error": {"message": "no such deployment"}}))
    assert "reported an error: no such deployment" in error.line


@every_api
async def test_an_event_that_is_not_json(server: WireServer, api: Api) -> None:
    events = Answer(Text("It is four", size=20)).events(api)
    some = next(n for n, event in enumerate(events) if b"four" in event)
    chunks, error = await failure_of(server, api, Reply([*events[: some + 1], b'data: {"oops\n\n', *events[some:]]))
    assert isinstance(error, AnswerInterrupted)
    assert 'sent an event that is not JSON: {"oops' in error.line
    assert text_of(chunks) == "It is four"


@every_api
async def test_bad_bytes_in_the_text_are_shown_and_said(server: WireServer, api: Api) -> None:
    body = Answer(Text("It is XY four")).body(api).replace(b"XY", b"\xff\xfe")
    chunks = await answer_to(server, api, Reply([body]))
    assert text_of(chunks) == "It is \ufffd\ufffd four"
    assert len(notices_of(chunks)) == 1


@every_api
async def test_keep_alives_are_not_an_answer(server: WireServer, api: Api) -> None:
    body = [KEEP_ALIVE] * 50
    chunks = await answer_to(server, api, Reply([*body, *Answer(Text("4")).events(api)]))
    assert text_of(chunks) == "4"


# -- errors in the stream


def in_stream_error(api: Api, code: str, message: str) -> bytes:
    """An error event as the format writes it."""
    if api == "anthropic":
        return sse({"type": "error", "error": {"type": code, "message": message}}, "error")
    if api == "openai-responses":
        return responses_event(
            "response.failed", response={"status": "failed", "error": {"code": code, "message": message}}
        )
    return sse({"error": {"code": code, "message": message}})


@every_api
async def test_an_error_event_behind_text_keeps_the_text(server: WireServer, api: Api) -> None:
    events = Answer(Text("It is", size=20)).events(api)
    some = next(n for n, event in enumerate(events) if b"It is" in event)
    error_event = in_stream_error(api, "server_error", f"worker died, {KEY}")
    chunks, error = await failure_of(server, api, Reply([*events[: some + 1], error_event]))
    assert isinstance(error, AnswerInterrupted)
    assert "reported an error: worker died, (hidden)" in error.line
    assert text_of(chunks) == "It is"
    assert len(server.requests) == 1


@every_api
async def test_an_error_event_before_anything_is_tried_again(server: WireServer, api: Api) -> None:
    error_event = Reply([in_stream_error(api, "overloaded_error", "Overloaded")])
    chunks = await answer_to(server, api, error_event, error_event, Answer(Text("4")))
    assert text_of(chunks) == "4"
    assert [retry.why for retry in retries_of(chunks)] == ["overloaded_error"] * 2


@pytest.mark.parametrize("words", ["input token count ", "x", "signature thinking "])
async def test_an_error_of_megabytes_is_told_by_its_beginning(server: WireServer, words: str) -> None:
    """Looking for what it means in all of it would take minutes."""
    message = "This went wrong: " + words * (4 * 2**20 // len(words))
    error: dict[str, Any] = {"error": {"message": message, "code": "5" * 5_000, "param": "p" * 2**20}}
    _, told = await failure_of(server, "openai-chat", Reply([sse(error)]))
    assert "reported an error: This went wrong: " in told.line
    assert len(told.line) < 1_000
    _, told = await failure_of(server, "openai-chat", Reply.json({"error": {"message": message[: 2**19]}}, 400))
    assert "refused the request (HTTP 400): This went wrong: " in told.line


@every_api
async def test_a_context_overflow_in_the_stream(server: WireServer, api: Api) -> None:
    event = in_stream_error(api, "context_length_exceeded", "Your input exceeds the context window of this model.")
    _, error = await failure_of(server, api, Reply([event]))
    assert isinstance(error, ContextOverflow)


@every_api
async def test_a_cut_before_anything_was_shown_is_tried_again(server: WireServer, api: Api) -> None:
    first = Answer(Text("4")).events(api)[:1]
    chunks = await answer_to(server, api, Reply([*first, Cut()]), Reply([*first, Cut("reset")]), Answer(Text("4")))
    assert text_of(chunks) == "4"
    assert len(retries_of(chunks)) == 2


@every_api
async def test_what_was_shown_is_never_repeated(server: WireServer, api: Api) -> None:
    events = Answer(Call("calculator_evaluate", "{}")).events(api)
    opened = next(n for n, event in enumerate(events) if b"calculator_evaluate" in event)
    chunks, error = await failure_of(server, api, Reply([*events[: opened + 1], Cut()]), Answer(Text("4")))
    assert isinstance(error, AnswerInterrupted)
    assert calls_of(chunks) == []
    assert len(server.requests) == 1


async def test_sizes_of_a_stream_that_never_ends_its_event(server: WireServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("console_app.providers.stream.reading.LARGEST_EVENT", 1000)
    flood = [chat_chunk({"content": "4"}), b"data: " + b"x" * 600, b"x" * 600, Hang()]
    chunks, error = await failure_of(server, "openai-chat", Reply(flood))
    assert "an event of more than 64 MB" in error.line
    assert text_of(chunks) == "4"


async def test_an_event_without_an_end_is_bounded_in_lines_and_keep_alives_are_not_counted(server: WireServer) -> None:
    alive = b":\n" * 10_002 + chat_chunk({"content": "4"})
    lines = b"".join(b'data: {"a":{}\n' for _ in range(10_002))
    chunks, error = await failure_of(server, "openai-chat", Reply([alive, lines, Hang()]))
    assert "more than 10,000 lines" in error.line
    assert text_of(chunks) == "4"


@every_api
async def test_compressed_bytes_are_counted_as_what_they_become(
    server: WireServer, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console_app.providers.endpoint.client.LARGEST_ANSWER", 3 * 2**20)
    bomb = gzip.compress(b": " + b"x" * 8 * 2**20 + b"\n\n")
    assert len(bomb) < 10_000
    server.script(*[Reply([bomb], headers={"content-encoding": "gzip"})] * 8)
    _, error = await failure_of(server, api)
    assert "the answer is larger than 3 MB" in error.line
    assert server.requests[0].headers["accept-encoding"] == "gzip, deflate"


@every_api
async def test_a_refusal_without_an_end_is_read_as_far_as_it_is_shown(server: WireServer, api: Api) -> None:
    bomb = gzip.compress(b"No model here. " + b"x" * 2**22)
    server.script(Reply([bomb[:-20], Hang()], 400, {"content-encoding": "gzip"}, "text/plain"))
    _, error = await failure_of(server, api)
    assert "No model here." in error.line


@every_api
async def test_a_refusal_in_a_charset_that_takes_minutes_is_read_as_utf8(server: WireServer, api: Api) -> None:
    words = b"No model here, " + b"bcd9" * 2**18
    server.script(Reply([words], 400, content_type="text/plain; charset=punycode"))
    _, error = await failure_of(server, api)
    assert "No model here, bcd9" in error.line


async def test_half_a_thought_is_kept_for_people_only(server: WireServer) -> None:
    start = sse({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}})
    events = [anthropic_start(), start, anthropic_delta(0, "thinking_delta", thinking="Let me")]
    chunks, _ = await failure_of(server, "anthropic", Reply([*events, Cut()]))
    kept = next(chunk.reasoning for chunk in chunks if hasattr(chunk, "reasoning"))
    assert (kept.text, kept.data) == ("Let me", {})


async def test_every_failure_is_a_provider_error(server: WireServer) -> None:
    provider = provider_at(server, "openai-chat", headers={"Bad\nHeader": "x"})
    _, error = await read(provider, ASK)
    await provider.close()
    assert isinstance(error, ProviderError)


@every_api
async def test_a_refusal_that_comes_a_byte_now_and_then_has_an_end(api: Api, server: WireServer) -> None:
    server.script(*[Reply([b'{"error": {"message": "no', *[b" ", Pause(0.02)] * 5_000], 400)] * 9)
    provider = provider_at(server, api, read_timeout=0.5)
    _, error = await read(provider)
    await provider.close()
    assert isinstance(error, ProviderError)
    await asyncio.to_thread(server.wait_closed_early)


@every_api
async def test_a_header_without_end_is_refused(api: Api, server: WireServer) -> None:
    endless = [b"HTTP/1.1 200 OK\r\nX-Endless: ", *[b"x" * 65_536] * 2_000, Hang()]
    server.script(*[Reply(before_headers=endless)] * 9)
    provider = provider_at(server, api, Waits())
    _, error = await read(provider)
    await provider.close()
    assert isinstance(error, ProviderError)
    assert "\n" not in error.line
    assert len(error.line) < 500


@every_api
async def test_a_reset_connection_is_told_in_the_words_of_the_network(api: Api, server: WireServer) -> None:
    begun = Answer(Text("It is four.", size=1)).events(api)[:4]
    _, error = await failure_of(server, api, *[Reply([*begun, Cut("reset")])] * 5)
    assert "the connection was lost: [Errno" in error.line
    assert "deque" not in error.line


@every_api
@pytest.mark.parametrize("framing", ["chunked", "length"])
async def test_words_in_place_of_an_answer_are_quoted(server: WireServer, api: Api, framing: Any) -> None:
    words = Reply([b"upstream is ", b"asleep"], content_type="text/plain", framing=framing)
    _, error = await failure_of(server, api, words)
    assert "answered with something that is no model's answer (text/plain): upstream is asleep. Check" in error.line


@every_api
async def test_an_answer_that_can_not_be_decompressed_is_told(server: WireServer, api: Api) -> None:
    _, error = await failure_of(server, api, Reply([b"no gzip"], headers={"Content-Encoding": "gzip"}))
    assert "its answer can't be read: " in error.line
    assert "DecodingError" not in error.line
