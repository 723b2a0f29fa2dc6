"""A call that stands in anything the model was given asks, in the mode that runs everything, wherever it came from."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from console_app.domain import events as ev
from console_app.domain.approvals import ApprovalMode
from console_app.domain.events import Decision
from console_app.domain.messages import Attachment, UserMessage
from console_app.domain.settings import ProviderConfig
from console_app.domain.transcript import Transcript
from console_app.engine import ApprovalGate, Engine, Rule
from console_app.mcp_client import Hub
from console_app.providers import TextProtocol, open_provider
from tests.end_to_end.test_when_text_is_a_call import BARE, DONE, MARKED, REFUSAL
from tests.providers.test_server_tools import ASKED as SEARCHED
from tests.providers.test_server_tools import CONNECTOR, message_events, message_item, response_events
from tests.wire_bytes import Answer, Api, Text
from tests.wire_server import Reply, WireServer

ATTACHED: dict[str, Callable[[str], UserMessage]] = {
    "a pasted text": lambda text: UserMessage(content=f"What is this?\n\n{text}"),
    "a file": lambda text: UserMessage(content="Read it.", attachments=(Attachment(name="notes.md", text=text),)),
    "a resource": lambda text: UserMessage(
        content="Read it.", attachments=(Attachment(name="notes", server="docs", uri="docs://a", text=text),)
    ),
    "the address of a resource": lambda text: UserMessage(
        content="Read it.", attachments=(Attachment(name="notes", server="docs", uri=f"docs://{text}", text="x"),)
    ),
    "the name of a file": lambda text: UserMessage(
        content="Read it.", attachments=(Attachment(name=f"{text}.md", text="x"),)
    ),
    "a server's prompt": lambda text: UserMessage(content=text, source="/docs:review all"),
}


def engine_of(server: WireServer, api: Api, hub: Hub, model: str = "m") -> Engine:
    config = ProviderConfig(name="lab", api=api, model=model, base_url=server.base_url(api), api_key="k", max_tries=1)
    gate = ApprovalGate(ApprovalMode.YOLO, [Rule("allow", "*")])
    return Engine(provider=TextProtocol(open_provider(config), dialect="hermes_json"), toolset=hub, gate=gate)


async def asked(engine: Engine, prompt: str | UserMessage = "And now?") -> list[str]:
    """Why the calls of a turn asked, in which a person denies all."""
    why: list[str] = []
    written: set[str] = set()
    async with engine.start(prompt) as turn:
        async for event in turn:
            if isinstance(event, ev.CallAnnounced) and event.origin == "text":
                written.add(event.call_id)
            assert not (isinstance(event, ev.CallStarted) and event.call_id in written), "it ran"
            if isinstance(event, ev.ApprovalRequested):
                why.append(event.why)
                turn.resolve(event.call_id, Decision.DENY)
    return why


@pytest.mark.parametrize("refused", [False, True])
@pytest.mark.parametrize("message", ATTACHED.values(), ids=ATTACHED.keys())
async def test_a_call_in_what_came_with_a_prompt_asks(
    message: Callable[[str], UserMessage], refused: bool, hub: Hub
) -> None:
    with WireServer() as server:
        server.script(*[REFUSAL] * refused, Answer(Text(MARKED)), DONE, Answer(Text(MARKED)), DONE)
        engine = engine_of(server, "openai-chat", hub)
        (now,) = await asked(engine, message(BARE))
        (later,) = await asked(engine)
        await engine.provider.close()
    assert now.startswith("maybe quoted: it stands in ")
    assert later == now


def found(api: Api) -> Reply:
    """An answer in which a tool of the provider finds a call, and the model writes it."""
    if api == "anthropic":
        result = {"type": "mcp_tool_result", "tool_use_id": "mcptoolu_1", "is_error": False}
        told = {**result, "content": [{"type": "text", "text": f"It says: {BARE}"}]}
        return Reply(message_events(SEARCHED, told, {"type": "text", "text": MARKED}))
    return Reply(response_events({**CONNECTOR, "output": f"It says: {BARE}"}, message_item(1, MARKED)))


@pytest.mark.parametrize("api", ["anthropic", "openai-responses"])
async def test_a_call_in_what_a_tool_of_the_provider_found_asks(api: Api, hub: Hub) -> None:
    with WireServer() as server:
        server.script(found(api), DONE, Answer(Text(MARKED)), DONE, Answer(Text(MARKED)), DONE)
        engine = engine_of(server, api, hub)
        why = await asked(engine, "Look for it.")
        why += await asked(engine)
        again = engine_of(server, api, hub)
        again.history[:] = [one.model_validate_json(one.model_dump_json()) for one in engine.history]
        why += await asked(again)
        await engine.provider.close()
        await again.provider.close()
    assert [one.partition(" (")[0] for one in why] == [
        "maybe quoted: it stands in a result of the provider's own tool"
    ] * 3


async def test_a_call_in_what_was_said_before_a_new_start_asks(hub: Hub) -> None:
    with WireServer() as server:
        server.script(DONE, Answer(Text(f"They pasted {BARE} there.")), DONE, DONE, Answer(Text(MARKED)), DONE)
        engine = engine_of(server, "openai-chat", hub)
        events: list[ev.Event] = []
        for prompt in (f"What is this?\n\n{BARE}", "And?", "Go on."):
            async with engine.start(prompt) as turn:
                events += [event async for event in turn]
        again = engine_of(server, "openai-chat", hub)
        again.go_on("again", Transcript.of(events))
        (why,) = await asked(again)
        await engine.provider.close()
        await again.provider.close()
    assert why == "maybe quoted: it stands in what you sent (line 3)"


async def test_it_is_told_apart_from_what_else_stands_in_one_message(hub: Hub) -> None:
    """Messages of one side that follow one another go out as one: lines count from the beginning of their own."""
    with WireServer() as server:
        server.script(Reply(b"", 500), Answer(Text(MARKED)), DONE)
        engine = engine_of(server, "openai-chat", hub)
        await asked(engine, "The first.\nIt fails.")
        (why,) = await asked(engine, ATTACHED["a server's prompt"](f"Look at this:\n{BARE}"))
        await engine.provider.close()
    assert why == "maybe quoted: it stands in what the server wrote for /docs:review (line 2)"


async def test_a_call_in_a_turn_that_was_undone_asks(hub: Hub) -> None:
    with WireServer() as server:
        server.script(DONE, Answer(Text(MARKED)), DONE)
        engine = engine_of(server, "openai-chat", hub)
        await asked(engine, f"What is this?\n\n{BARE}")
        engine.undo_turn()
        why = await asked(engine)
        await engine.provider.close()
    assert why == ["maybe quoted: it stands in what you sent (line 3)"]


async def test_a_call_that_a_summary_left_out_asks_after_a_new_start(hub: Hub) -> None:
    with WireServer() as server:
        server.script(DONE, DONE, DONE, Answer(Text("It was a page.")), Answer(Text(MARKED)), DONE)
        engine = engine_of(server, "openai-chat", hub)
        for prompt in (f"What is this?\n\n{BARE}", "And?", "Go on."):
            await asked(engine, prompt)
        async with engine.compact() as compacting:
            assert [event async for event in compacting if isinstance(event, ev.HistoryCompacted)]
        again = engine_of(server, "openai-chat", hub)
        again.go_on("again", engine.transcript)
        why = await asked(again)
        await engine.provider.close()
        await again.provider.close()
    assert why == ["maybe quoted: it stands in what you sent (line 3)"]


async def summed_up(engine: Engine, again: Engine) -> tuple[str, str]:
    """Why a call asks once a summary stands for the turns so far: here, and in one that goes on with them."""
    async with engine.compact() as compacting:
        assert [event async for event in compacting if isinstance(event, ev.HistoryCompacted)]
    (here,) = await asked(engine)
    again.go_on("again", engine.transcript)
    (there,) = await asked(again)
    await engine.provider.close()
    await again.provider.close()
    return here, there


async def test_a_call_that_only_a_summary_still_holds_asks_after_a_new_start(hub: Hub) -> None:
    with WireServer() as server:
        summary = Answer(Text(f"The page wants: {BARE}"))
        server.script(DONE, DONE, DONE, summary, Answer(Text(MARKED)), DONE, Answer(Text(MARKED)), DONE)
        engine = engine_of(server, "openai-chat", hub)
        for prompt in (f"What is this?\n\n{BARE}", "And?", "Go on."):
            await asked(engine, prompt)
        here, there = await summed_up(engine, engine_of(server, "openai-chat", hub))
    assert here.startswith("maybe quoted: it stands in ")
    assert there.startswith("maybe quoted: it stands in ")


async def test_what_an_attachment_said_fifty_turns_and_a_summary_ago_asks(hub: Hub) -> None:
    with WireServer() as server:
        summary = Answer(Text("It was a page."))
        server.script(*[DONE] * 50, summary, Answer(Text(MARKED)), DONE, Answer(Text(MARKED)), DONE)
        engine = engine_of(server, "openai-chat", hub)
        await asked(engine, ATTACHED["a resource"](f"Then write {BARE}"))
        for turn in range(49):
            await asked(engine, f"And {turn}?")
        here, there = await summed_up(engine, engine_of(server, "openai-chat", hub))
    assert here == there == "maybe quoted: it stands in the attachment docs://a (line 1)"
