"""Events that few turns have, as an editor is told of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from acp import RequestError, schema

from console_app.acp_agent import tool_calls
from console_app.acp_agent.agent import server_of
from console_app.acp_agent.prompts import words_of
from console_app.acp_agent.updates import Updates
from console_app.domain import events as ev
from console_app.domain.messages import AssistantMessage
from console_app.domain.tools import Outcome, ToolAnnotations, ToolSpec
from console_app.domain.transcript import CallView, Transcript

TURN = (ev.TurnStarted(prompt="Do it"), ev.StepStarted(step=1))


def told(*events: ev.Event) -> list[dict[str, Any]]:
    updates: list[Any] = []
    shown = Updates(updates.append, lambda _: None, Path("/project"), lambda: None)
    for event in (*TURN, *events):
        shown.show(event)
        shown.flush()
    return [one.model_dump(exclude_none=True) for one in updates]


def test_a_call_that_was_read_from_text_is_told_of_once_it_is_sure() -> None:
    announced = ev.CallAnnounced(call_id="a", index=0, name="t", tool="t", server="s", origin="text")
    ready = ev.CallReady(call_id="a", arguments={"path": "x.py", "line": 3})
    assert told(announced, ready, ev.CallDropped(call_id="a")) == []
    begun, started = told(announced, ready, ev.CallStarted(call_id="a"))
    assert (begun["title"], begun["status"], begun["raw_input"]) == ("s · t: x.py", "pending", ready.arguments)
    assert begun["locations"] == [{"path": "/project/x.py", "line": 3}]
    assert started["status"] == "in_progress"
    # One that was told of, and is none after all, has an end.
    native = announced.model_copy(update={"origin": "native"})
    assert [one["status"] for one in told(native, ev.CallDropped(call_id="a"))] == ["pending", "failed"]


def test_a_summary_is_an_entity_where_an_editor_takes_one_and_else_words() -> None:
    compacted = ev.HistoryCompacted(turn=1, summary="They met.", covers=4)
    (words,) = told(compacted)
    assert "oldest 4 messages" in words["content"]["text"]
    updates: list[Any] = []
    shown = Updates(updates.append, lambda _: None, Path("/project"), lambda: None, frozenset({"compaction"}))
    events = [ev.TurnStarted(turn=1, prompt="One"), compacted, ev.TurnFinished(turn=1, outcome="completed")]
    for event in events:
        shown.show(event)
    (live,) = updates
    assert live == {
        "sessionUpdate": "compaction_update", "compactionId": "c1", "status": "completed",
        "summary": [{"type": "text", "text": "They met."}],
    }  # fmt: skip
    again = Updates(updates.append, lambda _: None, Path("/project"), lambda: None, frozenset({"compaction"}))
    list(again.replay(Transcript.of(events)))
    assert updates[1:].count(live) == 1


def test_an_answer_is_said_once_and_whole() -> None:
    def added(text: str) -> ev.MessageAdded:
        return ev.MessageAdded.of(AssistantMessage(content=text))

    def said(*events: ev.Event) -> list[tuple[str, str]]:
        return [(one["message_id"], one["content"]["text"]) for one in told(*events)]

    assert said(ev.TextDelta(text="Hel"), ev.TextDelta(text="lo"), added("Hello")) == [("m2", "Hel"), ("m2", "lo")]
    assert said(ev.TextDelta(text="Hel"), added("Hello")) == [("m2", "Hel"), ("m2", "lo")]
    assert said(ev.TextDelta(text="hm"), ev.TextRevised(text="Yes"), added("Yes")) == [("m2", "hm"), ("m3", "Yes")]
    # What the model gave to `finished` is a second message of its answer.
    assert said(ev.TextDelta(text="So."), added("So."), added("It is 2.")) == [("m2", "So."), ("m3", "It is 2.")]


def test_a_long_result_is_cut_and_a_file_is_a_link() -> None:
    call = CallView("a", 0, "t", "s", "t", "native", 0.0, outcome=Outcome.SUCCEEDED, content="x" * 200_010)
    update = schema.ToolCallProgress(
        session_update="tool_call_update", tool_call_id="a", **tool_calls.ending(call, [])
    ).model_dump()
    assert update["content"][0]["content"]["text"].endswith("x\n[10 more characters]")
    for size, whole in ((10, True), (tool_calls.LONGEST_OUTPUT, False)):
        call.structured = {"rows": ["x" * size]}
        assert tool_calls.ending(call, [])["raw_output"] == (call.structured if whole else None)


def test_kinds_are_what_names_and_annotations_say() -> None:
    def kind(tool: str, *, reads: bool = False) -> str:
        spec = ToolSpec(name=tool, server="s", tool=tool, annotations=ToolAnnotations(read_only=reads))
        return tool_calls.kind_of(CallView("a", 0, tool, "s", tool, "native", 0.0), spec)

    names = ("deleteFile", "move_file", "run_command", "write_file", "search_files", "get")
    assert [kind(name) for name in names] == ["delete", "move", "execute", "edit", "other", "other"]
    names = ("search_files", "fetch", "read_file", "run_query", "write_file")
    assert [kind(name, reads=True) for name in names] == ["search", "fetch", "read", "search", "read"]


def test_a_conversation_is_told_again_as_it_is_now() -> None:
    updates: list[Any] = []
    shown = Updates(updates.append, lambda _: None, Path("/project"), lambda: 1000)
    events = [
        ev.TurnStarted(turn=1, prompt="One"),
        ev.StepStarted(turn=1, step=1),
        ev.MessageAdded.of(AssistantMessage(content="First.")),
        ev.TurnFinished(turn=1, outcome="completed"),
        ev.TurnStarted(turn=2, prompt="Two"),
        ev.StepStarted(turn=2, step=1),
        ev.CallAnnounced(turn=2, call_id="a", index=0, name="t"),
        ev.TurnFinished(turn=2, outcome="failed", error="No."),
        ev.TurnStarted(turn=3, prompt="Three"),
        ev.TurnUndone(undone=3),
    ]
    list(shown.replay(Transcript.of(events)))
    kinds = [(one.session_update, getattr(getattr(one, "content", None), "text", "")) for one in updates]
    assert kinds == [
        ("user_message_chunk", "One"), ("agent_message_chunk", "First."), ("user_message_chunk", "Two"),
        ("tool_call", ""), ("tool_call_update", ""), ("agent_message_chunk", "No.\n\n"), ("usage_update", ""),
    ]  # fmt: skip
    assert updates[4].status == "failed"


def test_a_server_of_the_editor_is_one_of_mcp_json() -> None:
    header = schema.HttpHeader(name="X-Key", value="k")
    http = server_of(schema.HttpMcpServer(type="http", name="web", url="https://web.example/mcp", headers=[header]))
    assert (http.kind, http.url, http.headers) == ("http", "https://web.example/mcp", {"X-Key": "k"})
    assert server_of(schema.SseMcpServer(type="sse", name="old", url="https://old.example/", headers=[])).kind == "sse"
    variables = [schema.EnvVariable(name="KEY", value="${NOT_FILLED_IN}")]
    stdio = server_of(schema.McpServerStdio(name="own", command="run", args=["it"], env=variables))
    assert (stdio.kind, stdio.command, stdio.args, stdio.env) == ("stdio", "run", ("it",), {"KEY": "${NOT_FILLED_IN}"})
    with pytest.raises(RequestError, match="must start with http"):
        server_of(schema.HttpMcpServer(type="http", name="file", url="file:///etc/passwd", headers=[]))
    with pytest.raises(RequestError, match="is no server that is reached over stdio or HTTP"):
        server_of(schema.AcpMcpServer.model_validate({"type": "acp", "serverId": "x", "name": "within"}))


def test_what_names_no_file_of_this_machine_is_a_name_and_an_address() -> None:
    def words(uri: str) -> str:
        return words_of([schema.ResourceContentBlock(type="resource_link", name="x", uri=uri)])

    assert words("file:///a/x") == words("file://localhost/a/x") == "x"
    for other in ("file://", "file:a/x", "file://far/a/x", "file:///a%00", "https://a/x", "http://[x"):
        assert words(other) == f"x ({other})"
