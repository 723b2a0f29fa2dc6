"""Conversations are those of the console: listed, gone on with and told again; and how each prompt ends is said."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from acp import RequestError, schema

from console_app.config.files import Paths
from console_app.sessions import Library, Store
from tests.acp_agent.editor import Editor, opened, stdio
from tests.acp_agent.model import Model
from tests.program.process import ROOT, Fanout
from tests.wire_bytes import Answer, Call, Reasoning, Text
from tests.wire_server import Reply, WireServer

ASKING = "tests/mcp_client/fixtures/asking_server.py"


async def test_a_conversation_is_gone_on_with_and_says_how_each_prompt_ended(tmp_path: Path) -> None:
    fanout, model = Fanout(tmp_path), Model()
    fanout.write("home/mcp.json", '{"mcpServers": {}}')
    fanout.write("home/commands/greet.md", "---\ndescription: Greets\n---\nGreet $1 kindly.\n")
    fanout.write("home/commands/look.md", "See @note.txt and $1.\n")
    fanout.write("note.txt", "from the folder\n")
    asks = stdio("asks", [sys.executable, str(ROOT / ASKING)])
    with WireServer(model) as server:
        base = server.base_url("openai-chat")
        arguments = ("-m", "openai/test-model", "--base-url", base, "--allow-tool", "asks.*", "--max-steps", "2")
        async with opened(fanout, *arguments, can=schema.ClientCapabilities()) as editor:
            cwd = str(fanout.cwd)
            session = await editor.agent.new_session(cwd=cwd, mcp_servers=[asks])
            await _endings(editor, model, session.session_id)
            await _choices(editor, model, session)
            await _commands(editor, model, session.session_id)
            await _loaded(editor, model, session.session_id, cwd)
            await _in_the_console(editor, fanout, session.session_id, cwd)


async def _endings(editor: Editor, model: Model, session_id: str) -> None:
    model.answers |= {
        "Start": [Answer(Reasoning("well"), Call("asks_form", "{}", "form")), Answer(Text("Nobody."))],
        "Long": [Answer(Text("It goes on and"), finish="length")],
        "Bad": [Answer(Text("I"), finish="filtered")],
        "Key": [Reply.json({"error": {"message": "that key is no good"}}, 401)],
        "Loop": [Answer(Call("asks_say", "{}", "s1")), Answer(Call("asks_where", "{}", "s2")), Answer(Text("Enough."))],
    }
    assert await editor.ask(session_id, "Start") == "end_turn"
    assert "Who are you?\nThe server asked for values, which this editor can't: it was declined." in editor.said()
    offered: Any = model.bodies[0]["tools"]
    assert not [one for one in offered if "ask_followup_question" in one["function"]["name"]]
    assert await editor.ask(session_id, "Long") == "max_tokens"
    assert "reached the token limit" in editor.said()
    assert await editor.ask(session_id, "Bad") == "refusal"
    with pytest.raises(RequestError, match="that key is no good") as failed:
        await editor.ask(session_id, "Key")
    assert failed.value.code == -32603
    assert "Traceback" not in str(failed.value.data)
    assert await editor.ask(session_id, "Loop") == "max_turn_requests"
    sound = schema.AudioContentBlock(type="audio", data="AAAA", mime_type="audio/wav")
    with pytest.raises(RequestError, match="sound can't go with a message"):
        await editor.ask(session_id, "Hear", sound)


async def _choices(editor: Editor, model: Model, session: schema.NewSessionResponse) -> None:
    assert session.modes is not None
    assert session.modes.current_mode_id == "auto"
    assert [one.id for one in session.modes.available_modes] == ["ask", "auto", "plan", "yolo"]
    await editor.agent.set_session_mode(session_id=session.session_id, mode_id="plan")
    assert editor.of(schema.CurrentModeUpdate)[-1].current_mode_id == "plan"
    mode, models, effort = editor.of(schema.ConfigOptionUpdate)[-1].config_options
    assert (mode.current_value, effort.current_value) == ("plan", "default")
    assert [one.value for one in models.options][:2] == ["openai/test-model", "openai/other"]
    for option, value in (("model", "openai/other"), ("effort", "high"), ("mode", "yolo")):
        chosen = await editor.agent.set_config_option(session_id=session.session_id, config_id=option, value=value)
        assert chosen is not None
        assert {one.id: one.current_value for one in chosen.config_options}[option] == value
    assert editor.of(schema.CurrentModeUpdate)[-1].current_mode_id == "yolo"
    for option, value in (("model", True), ("mode", "wild"), ("colour", "red"), ("effort", True)):
        with pytest.raises(RequestError):
            await editor.agent.set_config_option(session_id=session.session_id, config_id=option, value=value)
    model.answers["Other"] = [Answer(Call("asks_seen", "{}", "seen")), Answer(Text("I am."))]
    assert await editor.ask(session.session_id, "Other") == "end_turn"
    assert model.bodies[-1]["model"] == "other"


async def _commands(editor: Editor, model: Model, session_id: str) -> None:
    listed = editor.of(schema.AvailableCommandsUpdate)[-1].available_commands
    ours = ["protocol", "run", "retry", "agents", "agent", "tell", "race", "take", "choose", "compare", "diff"]
    ours += ["context", "request", "cost", "compact", "results"]
    assert [one.name for one in listed] == [*ours, "greet", "look", "asks:review"]
    assert listed[-1].input.root.hint == "language [style]"
    assert await editor.ask(session_id, "/protocol auto") == "end_turn"  # which forgets in what form the model writes
    assert await editor.ask(session_id, "/context") == "end_turn"
    assert "The next request, counted at" in editor.said()
    assert await editor.ask(session_id, "/cost") == "end_turn"
    assert "Turn       Tokens" in editor.said()
    model.answers["Greet Ada kindly."] = [Answer(Text("Hello, Ada."))]
    assert await editor.ask(session_id, "/greet Ada") == "end_turn"
    assert editor.said().endswith("Hello, Ada.")
    unsaved = schema.TextResourceContents(uri="file:///elsewhere/open.py", text="unsaved = True")
    model.answers["See "] = [Answer(Text("Seen."))]
    embedded = schema.EmbeddedResourceContentBlock(type="resource", resource=unsaved)
    assert await editor.ask(session_id, "/look ", embedded) == "end_turn"
    last: Any = model.bodies[-1]["messages"]
    assert "from the folder" in str(last[-1])
    assert "unsaved = True" in str(last[-1])
    model.answers["Review this Python."] = [Answer(Text("Fine."))]
    assert await editor.ask(session_id, "/asks:review language=Python") == "end_turn"
    model.answers["ummary"] = [Answer(Text("We spoke of much."))]
    assert await editor.ask(session_id, "/compact") == "end_turn"
    assert "A summary stands for" in editor.said(kind=schema.AgentThoughtChunk)


async def _loaded(editor: Editor, model: Model, session_id: str, cwd: str) -> None:
    editor.updates.clear()
    await editor.agent.close_session(session_id=session_id)
    assert not editor.updates  # as that its servers have no prompts any more
    with pytest.raises(RequestError, match=r"no conversation .* is open here") as gone:
        await editor.ask(session_id, "Anybody?")
    assert gone.value.code == -32002
    listed = await editor.agent.list_sessions(cwd=cwd)
    assert [(one.session_id, one.cwd, one.title) for one in listed.sessions] == [(session_id, cwd, "Start")]
    assert not (await editor.agent.list_sessions(cwd="/elsewhere")).sessions
    assert (await editor.agent.list_sessions(cwd=f"{cwd}/../{Path(cwd).name}")).sessions
    assert (await editor.agent.list_sessions()).sessions
    with pytest.raises(RequestError, match="that cursor was not given here"):
        await editor.agent.list_sessions(cursor="next")
    editor.updates.clear()
    await editor.agent.load_session(session_id=session_id, cwd=cwd, mcp_servers=[])
    asked = [one.content.text for one in editor.of(schema.UserMessageChunk)]
    assert asked[:4] == ["Start", "Long", "Bad", "Key"]
    assert editor.said(kind=schema.AgentThoughtChunk).startswith("well")
    assert "It goes on and" in editor.said()
    assert "that key is no good" in editor.said()
    assert editor.calls()["form"] == ["pending", "completed"]
    editor.updates.clear()
    await editor.agent.resume_session(
        session_id=session_id, cwd=cwd, mcp_servers=[]
    )  # in place of the one that is open
    assert not editor.of(schema.UserMessageChunk)
    model.answers["Goes on"] = [Answer(Text("It does."))]
    assert await editor.ask(session_id, "Goes on") == "end_turn"
    messages: Any = model.bodies[-1]["messages"]
    assert "We spoke of much." in str(messages)
    assert editor.said() == "It does."


async def _in_the_console(editor: Editor, fanout: Fanout, session_id: str, cwd: str) -> None:
    """A console goes on with it, and has it for itself then."""
    await editor.agent.close_session(session_id=session_id)
    paths = Paths.find({"FANOUT_HOME": str(fanout.home)})
    library = Library(Store(paths.sessions), paths.session_locks)
    try:
        opened_here = await library.open(session_id)
        assert opened_here.info.title == "Start"
        with pytest.raises(RequestError, match="is open in another console"):
            await editor.agent.load_session(session_id=session_id, cwd=cwd, mcp_servers=[])
    finally:
        await library.close()
    for unknown in ("0123456789", session_id[:8], ""):  # ids are whole here
        with pytest.raises(RequestError, match="no session") as none_such:
            await editor.agent.load_session(session_id=unknown, cwd=cwd, mcp_servers=[])
        assert none_such.value.code == -32002
    await _deleted(editor, session_id, cwd)
    for folder in ("work", str(fanout.cwd / "nowhere")):
        with pytest.raises(RequestError, match="cwd has to be the absolute path of a folder"):
            await editor.agent.new_session(cwd=folder, mcp_servers=[])


async def _deleted(editor: Editor, session_id: str, cwd: str) -> None:
    """For good, an open one too; one that is gone already is no error, and nothing else goes with it."""
    ask = editor.agent._conn.send_request  # the SDK's client has no method for it
    before = {one.session_id for one in (await editor.agent.list_sessions(cwd=cwd)).sessions}
    assert session_id in before
    await editor.agent.load_session(session_id=session_id, cwd=cwd, mcp_servers=[])
    for wanted in (session_id[:8], session_id, session_id):
        assert await ask("session/delete", {"sessionId": wanted}) == {}
    assert {one.session_id for one in (await editor.agent.list_sessions(cwd=cwd)).sessions} == before - {session_id}
    for method, params in (("session/delete", {}), ("_other", {})):
        with pytest.raises(RequestError):
            await ask(method, params)
