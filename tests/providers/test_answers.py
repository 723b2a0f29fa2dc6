"""Answers as people see them arrive, the same over all three wire formats."""

from __future__ import annotations

import asyncio
import json
from itertools import groupby

import pytest

from console_app.domain.chunks import CallClosed, CallDelta, CallOpened, Chunk, TextChunk
from console_app.domain.errors import AnswerInterrupted
from console_app.domain.ports import ModelRequest
from tests.providers import strict_wire
from tests.providers.reading import (
    ASK,
    KEY,
    answer_to,
    assert_well_formed,
    broken_of,
    calls_of,
    deltas_of,
    failure_of,
    finish_of,
    ids_of,
    provider_at,
    read,
    reasoning_of,
    text_of,
    usage_of,
)
from tests.wire_bytes import APIS, Answer, Api, Call, Reasoning, Text
from tests.wire_server import Cut, Gate, Hang, Reply, WireServer

pytestmark = pytest.mark.parametrize("api", APIS)
TWO = ('{"expression": "355/113"}', '{"expression": "sqrt(2)"}')


async def test_text_is_handed_on_as_it_is_sent(server: WireServer, api: Api) -> None:
    events = Answer(Text("Grüße — 世界 😀 done", size=3)).events(api)
    first, second = (next(n for n, event in enumerate(events) if word in event) for word in (b'"Gr', b'" do'))
    gates = [Gate(), Gate()]
    server.script(Reply([*events[: first + 1], gates[0], *events[first + 1 : second], gates[1], *events[second:]]))
    provider = provider_at(server, api)
    seen: list[Chunk] = []
    async with provider.stream(ASK) as stream:
        async for chunk in stream:
            seen.append(chunk)
            if text_of(seen) == "Grü":
                gates[0].open()  # nothing behind it was sent yet
            if text_of(seen) == "Grüße — 世界 😀":
                gates[1].open()
    await provider.close()
    assert text_of(seen) == "Grüße — 世界 😀 done"
    assert finish_of(seen) == "stop"


async def test_a_burst_of_text_is_few_chunks(server: WireServer, api: Api) -> None:
    body = Answer(Text("x" * 2000, size=1)).body(api)
    chunks = await answer_to(server, api, Reply([body]))
    assert text_of(chunks) == "x" * 2000
    assert sum(isinstance(chunk, TextChunk) for chunk in chunks) <= 2 * len(body) // 2**14 + 2


async def test_a_burst_of_arguments_is_few_chunks(server: WireServer, api: Api) -> None:
    written = json.dumps({"text": "x" * 2000})
    body = Answer(Call("demo_fail", written, "call_a", size=1)).body(api)
    chunks = await answer_to(server, api, Reply([body]))
    assert deltas_of(chunks, 0) == written
    assert sum(isinstance(chunk, CallDelta) for chunk in chunks) <= 2 * len(body) // 2**14 + 2


async def test_reasoning_is_shown_apart_from_the_text(server: WireServer, api: Api) -> None:
    chunks = await answer_to(server, api, Answer(Reasoning("Let me think."), Text("Four.")))
    assert reasoning_of(chunks) == "Let me think."
    assert text_of(chunks) == "Four."


async def test_one_call_is_announced_before_its_arguments(server: WireServer, api: Api) -> None:
    chunks = await answer_to(server, api, Answer(Call("calculator_evaluate", TWO[0], "call_a")))
    assert_well_formed(chunks)
    kinds = [type(chunk) for chunk in chunks if isinstance(chunk, CallOpened | CallDelta | CallClosed)]
    assert [kind for kind, _ in groupby(kinds)] == [CallOpened, CallDelta, CallClosed]
    assert calls_of(chunks) == [("calculator_evaluate", TWO[0])]
    assert ids_of(chunks) == ["call_a"]
    assert deltas_of(chunks, 0) == TWO[0]
    assert finish_of(chunks) == "tool_calls"


async def test_parallel_calls_keep_their_order(server: WireServer, api: Api) -> None:
    calls = [Call("calculator_evaluate", text) for text in TWO] + [Call("demo_fail")]
    chunks = await answer_to(server, api, Answer(Text("Three things."), *calls))
    assert_well_formed(chunks)
    assert calls_of(chunks) == [("calculator_evaluate", TWO[0]), ("calculator_evaluate", TWO[1]), ("demo_fail", "{}")]


async def test_sixty_four_calls_in_one_answer(server: WireServer, api: Api) -> None:
    calls = [Call("calculator_evaluate", f'{{"expression": "{n}"}}') for n in range(64)]
    chunks = await answer_to(server, api, Answer(*calls))
    assert_well_formed(chunks)
    assert [text for _, text in calls_of(chunks)] == [call.arguments for call in calls]


async def test_a_call_may_start_while_the_next_one_still_arrives(server: WireServer, api: Api) -> None:
    gate = Gate()
    events = Answer(Call("calculator_evaluate", TWO[0]), Call("calculator_evaluate", TWO[1])).events(api)
    second = next(n for n, event in enumerate(events) if b"call_1" in event)
    server.script(Reply([*events[: second + 1], gate, *events[second + 1 :]]))
    provider = provider_at(server, api)
    async with provider.stream(ASK) as stream:
        seen = []
        async for chunk in stream:
            seen.append(chunk)
            if isinstance(chunk, CallClosed) and chunk.index == 0:
                await gate.reached()  # nothing behind the beginning of the second call was sent yet
                gate.open()
    await provider.close()
    assert [text for _, text in calls_of(seen)] == list(TWO)


async def test_a_tool_without_arguments(server: WireServer, api: Api) -> None:
    chunks = await answer_to(server, api, Answer(Call("demo_fail", "")))
    assert calls_of(chunks) == [("demo_fail", "")]


async def test_usage_counts_cached_tokens_as_input(server: WireServer, api: Api) -> None:
    chunks = await answer_to(server, api, Answer(Text("Hi"), usage=(1200, 34, 1000)))
    usage = usage_of(chunks)
    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens, usage.cached_tokens) == (1200, 34, 1000)
    assert usage.cost is None  # no price is known for an endpoint of one's own


async def test_the_token_limit_breaks_only_the_call_it_cut(server: WireServer, api: Api) -> None:
    calls = [Call("calculator_evaluate", TWO[0]), Call("calculator_evaluate", '{"expression": "1 + ')]
    chunks = await answer_to(server, api, Answer(*calls, finish="length"))
    assert_well_formed(chunks)
    assert calls_of(chunks) == [("calculator_evaluate", TWO[0])]
    assert broken_of(chunks) == ["cut off by the token limit after 20 characters"]
    assert finish_of(chunks) == "length"


async def test_the_token_limit_before_any_arguments_runs_nothing(server: WireServer, api: Api) -> None:
    chunks = await answer_to(server, api, Answer(Call("demo_fail", ""), finish="length"))
    assert calls_of(chunks) == []
    assert broken_of(chunks) == ["cut off by the token limit after 0 characters"]


async def test_bad_json_in_one_of_two_calls(server: WireServer, api: Api) -> None:
    calls = [Call("calculator_evaluate", '{"expression": 1,,}'), Call("calculator_evaluate", TWO[1])]
    chunks = await answer_to(server, api, Answer(*calls))
    assert_well_formed(chunks)
    assert calls_of(chunks) == [("calculator_evaluate", TWO[1])]
    (problem,) = broken_of(chunks)
    assert problem.startswith("arguments are not valid JSON: ")
    assert problem.endswith(" at character 18")


async def test_a_list_for_arguments_is_no_call(server: WireServer, api: Api) -> None:
    chunks = await answer_to(server, api, Answer(Call("calculator_evaluate", "[1, 2]")))
    assert broken_of(chunks) == ["arguments are a list, not an object"]


async def test_a_filtered_answer_says_so(server: WireServer, api: Api) -> None:
    chunks = await answer_to(server, api, Answer(Text("I can't"), finish="filtered"))
    assert finish_of(chunks) == "filtered"


@pytest.mark.parametrize("how", ["fin", "reset"])
async def test_a_stream_cut_in_text_keeps_the_text(server: WireServer, api: Api, how: str) -> None:
    events = Answer(Text("It is four, and then", size=4)).events(api)
    some = next(n for n, event in enumerate(events) if b'"and "' in event)
    gate = Gate()
    server.script(Reply([*events[:some], gate, Cut(how)]))  # type: ignore[arg-type]
    provider = provider_at(server, api)
    reading = asyncio.ensure_future(read(provider))
    await gate.reached()
    gate.open()
    chunks, error = await reading
    await provider.close()
    assert isinstance(error, AnswerInterrupted)
    assert "What came so far is kept" in error.line
    assert text_of(chunks) == "It is four, "
    assert finish_of(chunks) is None


async def test_a_stream_cut_in_arguments_breaks_that_call_alone(server: WireServer, api: Api) -> None:
    events = Answer(Call("calculator_evaluate", TWO[0]), Call("calculator_evaluate", TWO[1])).events(api)
    cut = next(n for n, event in enumerate(events) if b"qrt(" in event)
    chunks, error = await failure_of(server, api, Reply([*events[: cut + 1], Cut()]))
    assert_well_formed(chunks)
    assert isinstance(error, AnswerInterrupted)
    assert calls_of(chunks) == [("calculator_evaluate", TWO[0])]
    (problem,) = broken_of(chunks)
    assert problem.startswith("cut off by a lost connection after ")


async def test_an_end_in_good_order_without_a_finish_is_an_interrupted_answer(server: WireServer, api: Api) -> None:
    events = Answer(Text("It is four.", size=100)).events(api)
    last = next(n for n, event in enumerate(events) if b"our." in event)
    chunks, error = await failure_of(server, api, Reply(events[: last + 1]))
    assert text_of(chunks) == "It is four."
    assert "the stream ended before the model said that it had finished" in str(error)


async def test_what_follows_the_finish_can_not_spoil_the_answer(server: WireServer, api: Api) -> None:
    events = Answer(Text("Done.")).events(api)
    chunks = await answer_to(server, api, Reply([*events, Cut("reset")]))
    assert text_of(chunks) == "Done."


async def test_leaving_early_closes_the_connection(server: WireServer, api: Api) -> None:
    events = Answer(Text("endless")).events(api)
    server.script(Reply([*events[:-1], Hang()]))
    provider = provider_at(server, api)
    async with provider.stream(ASK) as stream:
        async for chunk in stream:
            if isinstance(chunk, TextChunk):
                break
    await asyncio.to_thread(server.wait_closed_early)
    await provider.close()


async def test_cancelling_while_the_model_is_silent(server: WireServer, api: Api) -> None:
    server.script(Reply([], before_headers=[Hang()]))
    provider = provider_at(server, api)
    reading = asyncio.ensure_future(read(provider))
    await server.arrived(1)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    await asyncio.to_thread(server.wait_closed_early)
    await provider.close()


async def test_others_get_their_turn_during_a_burst(server: WireServer, api: Api) -> None:
    body = Answer(Text("x" * 6_000, size=1)).body(api)
    server.script(Reply([body]))
    provider = provider_at(server, api)
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async with provider.stream(ASK) as stream:
        seen = [await anext(stream)]
        counting = asyncio.ensure_future(others())
        seen += [chunk async for chunk in stream]
        counting.cancel()
    await provider.close()
    assert len(text_of(seen)) == 6_000
    assert turns >= len(body) // 2**16 - 1  # of 64 kB each, which take some 5 ms


async def test_steps_of_a_turn_share_one_connection(server: WireServer, api: Api) -> None:
    server.script(Answer(Text("one")), Answer(Text("two")), Answer(Text("three")))
    provider = provider_at(server, api)
    for word in ("one", "two", "three"):
        assert text_of((await read(provider))[0]) == word
    await provider.close()
    assert server.connections == 1


async def test_key_model_and_headers_reach_the_endpoint(server: WireServer, api: Api) -> None:
    server.script(Answer(Text("hi")))
    provider = provider_at(server, api, headers={"X-Team": "blue"}, extra_body={"user": "me"}, max_tokens=100)
    await read(provider)
    await provider.close()
    (request,) = server.requests
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["x-team"] == "blue"
    body = request.body
    assert (body["model"], body["stream"], body.pop("user")) == ("test-model", True, "me")
    strict_wire.check(api, body)


async def test_one_call_an_answer_is_asked_for_where_the_api_can(server: WireServer, api: Api) -> None:
    server.script(*[Answer(Text("hi"))] * 4)
    alone = ModelRequest(ASK.messages, tools=ASK.tools, parallel=False)
    asked = []
    for setting, request in (("send", ASK), ("send", alone), ("refuse", ASK), ("omit", alone)):
        provider = provider_at(server, api, parallel_tool_calls=setting)
        await read(provider, request)
        await provider.close()
        body = server.requests[-1].body
        choice = body.get("tool_choice", {})
        asked.append(
            {True: False, None: None}[choice.get("disable_parallel_tool_use")]
            if api == "anthropic"
            else body.get("parallel_tool_calls")
        )
    assert asked == ([None, False, False, None] if api == "anthropic" else [True, False, False, None])


async def test_a_server_on_this_machine_without_a_key_gets_a_placeholder(
    server: WireServer, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-from-the-environment")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-from-the-environment")
    server.script(Answer(Text("hi")))
    provider = provider_at(server, api, api_key=None)
    assert text_of((await read(provider))[0]) == "hi"
    await provider.close()
    assert server.requests[0].headers["authorization"] == "Bearer none"
    assert "sk-" not in str(server.requests[0].headers)


async def test_headers_of_the_environment_go_to_no_other_host(
    server: WireServer, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    for prefix in ("OPENAI", "ANTHROPIC"):
        monkeypatch.setenv(f"{prefix}_CUSTOM_HEADERS", "X-Gateway: secret\nAuthorization: Bearer other")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-secret")
    server.script(Answer(Text("hi")), Answer(Text("hi")))
    stranger = provider_at(server, api)
    await read(stranger)
    await stranger.close()
    assert "secret" not in str(server.requests[0].headers)
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    for prefix in ("OPENAI", "ANTHROPIC"):
        monkeypatch.setenv(f"{prefix}_BASE_URL", server.base_url(api))
    named = provider_at(server, api)
    await read(named)
    await named.close()
    assert server.requests[1].headers["x-gateway"] == "secret"


async def test_models_are_listed_by_the_endpoint(server: WireServer, api: Api) -> None:
    server.script(Reply.json({"data": [{"id": "small"}, {"id": "large"}]}))
    provider = provider_at(server, api)
    assert await provider.models() == ["small", "large"], "in its own order"
    await provider.close()
    assert server.requests[0].path.startswith("/v1/models")
