"""Two conversations at once: one is stopped, asks for its servers or dies with its editor, and the other goes on."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import psutil
import pytest
from acp import RequestError, schema

from console_app.config.files import Paths
from console_app.domain.tools import Outcome
from console_app.domain.transcript import Transcript
from console_app.sessions import Store
from tests.acp_agent.editor import Editor, as_arguments, opened, stdio
from tests.acp_agent.model import Model
from tests.patience import until_so
from tests.program.process import ROOT, Fanout
from tests.wire_bytes import Answer, Call, Text
from tests.wire_server import Gate, Reply, WireServer

HOLDING, ASKING = "tests/program/holding_server.py", "tests/mcp_client/fixtures/asking_server.py"


async def test_each_conversation_goes_its_own_way_and_all_end_with_their_editor(tmp_path: Path) -> None:
    fanout, model = Fanout(tmp_path), Model()
    other = tmp_path / "other"
    other.mkdir()
    fanout.write("home/mcp.json", '{"mcpServers": {}}')
    hold = stdio("hold", [sys.executable, str(ROOT / HOLDING), str(tmp_path / "log")])
    asks = stdio("asks", [sys.executable, str(ROOT / ASKING)])
    with WireServer(model) as server:
        base = server.base_url("openai-chat")
        async with opened(fanout, "-m", "openai/test-model", "--base-url", base, "--allow-tool", "asks.*") as editor:
            one, two = [
                (await editor.agent.new_session(cwd=str(folder), mcp_servers=servers)).session_id
                for folder, servers in ((fanout.cwd, [hold]), (other, [asks]))
            ]
            await _stopped(editor, model, one, two)
            await _closed(editor, model, fanout.cwd, hold)
            await _asked(editor, model, two)
            model.answers["Leave"] = [
                Answer(*(Call("hold_hold", as_arguments(text=f"{n}"), f"l{n}") for n in range(2)))
            ]
            left = asyncio.ensure_future(editor.ask(one, "Leave"))
            await editor.answer("l0", "once")
            await editor.asks_for("l1")
            await editor.until(lambda: editor.calls()["l0"][-1] == "in_progress", "the call that runs")
            children = psutil.Process(editor.process.pid).children(recursive=True)
            assert {Path(child.cwd()) for child in children} >= {fanout.cwd, other}
        assert (await asyncio.gather(left, return_exceptions=True))[0] != "end_turn"
    await until_so(lambda: not any(map(psutil.Process.is_running, children)), "the end of the servers")
    store = Store(Paths.find({"FANOUT_HOME": str(fanout.home)}).sessions)
    try:
        stored = Transcript.of(await store.load(one))
    finally:
        await store.close()
    assert stored.turn is not None
    assert stored.turn.outcome == "cancelled"
    calls = ("h0", "h1", "h2", "l0", "l1")
    assert {call.id: call.outcome for call in stored.calls.values()} == dict.fromkeys(calls, Outcome.CANCELLED)


async def _stopped(editor: Editor, model: Model, one: str, two: str) -> None:
    """A conversation whose calls run and wait is stopped, with another prompt right behind."""
    model.answers["Hold"] = [Answer(*(Call("hold_hold", as_arguments(text=f"{n}"), f"h{n}") for n in range(2)))]
    model.answers["Quick"] = [Answer(Text("It is quick."))]
    model.answers["Again"] = [Answer(Text("Here again."))]
    held = asyncio.ensure_future(editor.ask(one, "Hold"))
    await editor.answer("h0", "once")
    await editor.asks_for("h1")
    with pytest.raises(RequestError, match="this conversation still answers a prompt"):
        await editor.ask(one, "and this")
    assert await editor.ask(two, "Quick") == "end_turn"
    assert editor.said(two) == "It is quick."
    again = asyncio.ensure_future(_cancelled_and_asked(editor, one))
    assert await held == "cancelled"
    assert await again == "end_turn"
    assert editor.calls(one) == {"h0": ["pending", "in_progress", "failed"], "h1": ["pending", "failed"]}
    assert editor.said(one) == "Here again."
    model.answers["Hold"] = [Answer(Call("hold_hold", as_arguments(text="2"), "h2"))]
    held = asyncio.ensure_future(editor.ask(one, "Hold"))
    await editor.asks_for("h2")
    model.answers["Never"] = [Reply([never := Gate()])]
    await editor.agent.cancel(session_id=one)
    before, behind = editor.newest, asyncio.ensure_future(editor.ask(one, "Never"))
    await editor.until(lambda: editor.newest != before, "the prompt behind the stop")
    await editor.agent.cancel(session_id=one)
    assert await asyncio.gather(held, behind) == ["cancelled"] * 2
    never.open()
    del model.answers["Never"]  # it may not have been asked for, and its words stand in what is sent next
    # Before its first word, and as any request is taken back.
    gate = Gate()
    model.answers["Slow"] = [Reply([gate])]
    slow = asyncio.ensure_future(editor.ask(one, "Slow"))
    await gate.reached()
    editor.write(method="$/other", params=[])
    editor.write(method="$/cancel_request", params={"requestId": 999})
    editor.write(method="$/cancel_request", params={"requestId": editor.newest})
    assert await slow == "cancelled"
    gate.open()
    await editor.agent.cancel(session_id=one)
    await editor.agent.cancel(session_id="none such")


async def _cancelled_and_asked(editor: Editor, session_id: str) -> str:
    await editor.agent.cancel(session_id=session_id)
    return await editor.ask(session_id, "Again")


async def _closed(editor: Editor, model: Model, folder: Path, hold: schema.McpServerStdio) -> None:
    """The questions of a conversation are taken back when the editor closes it."""
    third = (await editor.agent.new_session(cwd=str(folder), mcp_servers=[hold])).session_id
    model.answers["Close"] = [Answer(Call("hold_hold", as_arguments(text="3"), "c0"))]
    closed = asyncio.ensure_future(editor.ask(third, "Close"))
    await editor.asks_for("c0")
    editor.taken_back.clear()
    await editor.agent.close_session(session_id=third)
    assert await closed == "cancelled"
    await editor.until(lambda: len(editor.taken_back) == 1, "the question that is taken back")


async def _asked(editor: Editor, model: Model, session_id: str) -> None:
    """The questions of a server reach the editor: for values, for a page, for the model, and those of the model."""
    calls = [Call(f"asks_{name}", "{}", name) for name in ("form", "page", "ask_model", "where")]
    question = Call("fanout_ask_followup_question", as_arguments(question="Which?", options=["red", "blue"]), "which")
    model.answers["Ask"] = [Answer(*calls, question), Answer(Text("Asked."))]
    model.answers["Capital"] = [Answer(Text("Paris"))]
    asking = asyncio.ensure_future(editor.ask(session_id, "Ask"))
    await editor.until(lambda: len(editor.forms) == 3, "the three forms")
    for message, mode, answer in editor.forms:
        if message == "asks: Pay here":
            assert str(mode.url) == "https://example.com/pay?to=us"
            answer.set_result(schema.AcceptElicitationResponse(action="accept"))
        elif message == "asks: Who are you?":
            assert set(mode.requested_schema.properties) == {"name", "age", "size"}
            answer.set_result(schema.AcceptElicitationResponse(action="accept", content={"name": "Eve", "age": 20}))
        else:
            assert (message, mode.tool_call_id) == ("Which?", "which")
            answer.set_result(schema.AcceptElicitationResponse(action="accept", content={"choice": "blue"}))
    asked = await editor.until(lambda: [one for one in editor.asked if "sampling" in one], "the question of the model")
    assert editor.calls()[asked[0]] == ["pending"]
    sampling, options = await editor.asks_for(asked[0])
    assert sampling.title == "asks wants to ask the model, at your expense"
    assert [one.option_id for one in options] == ["once", "session", "reject"]
    await editor.answer(asked[0], "once")
    assert await asking == "end_turn"
    assert "/other" in editor.output("where")[-1]
    assert json.loads(editor.output("form")[-1])["content"]["name"] == "Eve"
    assert json.loads(editor.output("page")[-1])["action"] == "accept"
    assert editor.calls()[asked[0]] == ["pending", "completed"]
    assert "Paris" in editor.output("ask_model")[-1]
    assert "blue" in editor.output("which")[-1]
