"""A prompt carries all that can go with it, and an answer has many calls at once: each its own, to the editor too."""

from __future__ import annotations

import asyncio
import base64
import json
import sys
from pathlib import Path
from typing import Any

from acp import RequestError, schema

from tests.acp_agent.editor import Editor, as_arguments, opened, stdio
from tests.acp_agent.model import Model
from tests.console.test_attachments import png
from tests.program.process import ROOT, Fanout
from tests.wire_bytes import Answer, Call, Reasoning, Text
from tests.wire_server import WireServer

CALLS = (
    Call("calculator_evaluate", as_arguments(expression="1+1"), "add"),
    Call("demo_status_updates", as_arguments(stages=20, interval_seconds=0.1), "stages"),
    Call("demo_fail", as_arguments(message="no such luck"), "fails"),
    Call("fanout_update_todo_list", as_arguments(todos=[{"content": "Dig", "status": "in_progress"}]), "todo"),
    Call("disk_edit_file", as_arguments(path="a.txt", old_text="one", new_text="1"), "edit"),
    Call("disk_write_file", as_arguments(path="b.txt", content="new"), "write"),
    Call("disk_read_file", as_arguments(path="a.txt", offset=2), "rejected"),
    Call("disk_search_files", as_arguments(text="x"), "closed"),
    Call("disk_list_directory", as_arguments(path="."), "refused"),
    Call("hold-2_do", as_arguments(text="one \ud800"), "first"),
    Call("hold-2_do", as_arguments(text="two"), "second"),
    Call("hold-2_do", as_arguments(text="three"), "third"),
)


async def test_many_calls_at_once_are_asked_for_shown_and_ended_each_by_itself(tmp_path: Path) -> None:
    fanout, model = Fanout(tmp_path), Model()
    # The rule is for a server of the user's own that nobody has seen yet, and not for one that an editor calls so.
    fanout.write("home/config.toml", '[rules]\nallow = ["hold-2.*"]\n[providers.openai]\ncontext_window = 100000\n')
    fanout.write("a.txt", "one\ntwo\n")
    bundled = json.loads((ROOT / "mcp.json").read_text())["mcpServers"]
    other = {"command": "other", "disabled": True}
    fanout.write("home/mcp.json", json.dumps({"mcpServers": {**bundled, "hold": other}}))
    holding = [sys.executable, str(ROOT / "tests/program/holding_server.py"), str(tmp_path / "log")]
    files = [sys.executable, "-m", "console_app.servers.files"]
    model.answers["Look at"] = [Answer(Reasoning("let me see"), Text("I look."), *CALLS), Answer(Text("All done."))]
    with WireServer(model) as server:
        async with opened(fanout, "-m", "openai/test-model", "--base-url", server.base_url("openai-chat")) as editor:
            servers = [stdio("disk", files), stdio("hold", holding)]
            session = await editor.agent.new_session(cwd=str(fanout.cwd), mcp_servers=servers)
            asking = asyncio.ensure_future(editor.ask(session.session_id, *_prompt(fanout.cwd)))
            for one in ("edit", "write", "rejected", "closed", "refused", "first"):
                await editor.asks_for(one)
            _check_questions(editor, fanout.cwd)
            await editor.answer("rejected", "reject")
            await editor.answer("closed", "")
            editor.asked.pop("refused")[2].set_exception(RequestError.method_not_found("session/request_permission"))
            await editor.answer("edit", "once")
            await editor.answer("write", "never offered")
            await editor.answer("first", "once")
            await editor.answer("second", "session")  # the rule lets the third run too, which is not asked for
            refused = ("write", "rejected", "closed", "refused")
            await editor.until(lambda: all("failed" in editor.calls()[one] for one in refused), "the end of these")
            for number in range(6):  # a second answer to each
                editor.write(id=number, result={"outcome": {"outcome": "selected", "optionId": "once"}})
            assert await asking == "end_turn"
            assert not editor.asked
            assert not editor.taken_back
            _check_updates(editor, fanout.cwd)
    _check_wire(model)
    assert (fanout.cwd / "a.txt").read_text() == "1\ntwo\n"
    assert not (fanout.cwd / "b.txt").exists()
    held = [json.loads(line)["text"] for line in (tmp_path / "log").read_text().splitlines()]
    assert held == ["one \ufffd", "two", "three"]


async def test_files_are_written_on_the_disk_by_their_tool_whatever_the_editor_offers(tmp_path: Path) -> None:
    fanout, model = Fanout(tmp_path), Model()
    write = Call("disk_write_file", as_arguments(path="b.txt", content="new"), "write")
    model.answers["Write"] = [Answer(write), Answer(Text("Done."))]
    offers = {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True}
    can = schema.ClientCapabilities.model_validate(offers)
    with WireServer(model) as server:
        arguments = ("-m", "openai/test-model", "--base-url", server.base_url("openai-chat"))
        async with opened(fanout, *arguments, can=can) as editor:
            servers = [stdio("disk", [sys.executable, "-m", "console_app.servers.files"])]
            session = await editor.agent.new_session(cwd=str(fanout.cwd), mcp_servers=servers)
            asking = asyncio.ensure_future(editor.ask(session.session_id, "Write it"))
            await editor.answer("write", "once")
            assert await asking == "end_turn"
            assert editor.requests == ["session/request_permission"]
    assert (fanout.cwd / "b.txt").read_text() == "new"


def _prompt(folder: Path) -> list[Any]:
    uri = (folder / "a.txt").as_uri()
    resource = schema.TextResourceContents(
        uri="file:///elsewhere/open.py", text="unsaved = True", mime_type="text/x-python"
    )
    return [
        "Look at ",
        schema.ResourceContentBlock(type="resource_link", name="a.txt", uri=f"{uri}#L2:2"),
        ", ",
        schema.EmbeddedResourceContentBlock(type="resource", resource=resource),
        schema.ResourceContentBlock(type="resource_link", name="the page", uri="https://page.example/"),
        schema.ImageContentBlock(type="image", data=base64.b64encode(png(4, 3)).decode(), mime_type="image/png"),
    ]


def _check_questions(editor: Editor, folder: Path) -> None:
    call, options, _ = editor.asked["edit"]
    assert [one.option_id for one in options] == ["once", "session", "always", "reject"]
    assert [one.option_id for one in editor.asked["first"][1]] == ["once", "reject"]  # it always asks
    assert [one.kind for one in options] == ["allow_once", "allow_always", "allow_always", "reject_once"]
    assert (call.title, call.kind, call.status) == ("disk · edit_file: a.txt", "edit", "pending")
    assert call.content is not None
    diff, words = call.content
    assert (diff.path, diff.old_text, diff.new_text) == (str(folder / "a.txt"), "one", "1")
    assert words.content.text.startswith("Edits, its arguments show it. Not pre-approved.\n")
    assert "old_text: one" in words.content.text
    new = editor.asked["write"][0].content
    assert new is not None
    assert (new[0].path, new[0].old_text, new[0].new_text) == (str(folder / "b.txt"), "", "new")
    kinds = {one: editor.asked[one][0].kind for one in ("write", "rejected", "closed", "first")}
    assert kinds == {"write": "edit", "rejected": "read", "closed": "search", "first": "other"}
    locations = editor.asked["rejected"][0].locations
    assert locations is not None
    assert (locations[0].path, locations[0].line) == (str(folder / "a.txt"), 2)


def _check_updates(editor: Editor, folder: Path) -> None:
    ran, did_not = ["pending", "in_progress", "completed"], ["pending", "failed"]
    assert editor.calls() == {
        "add": ran, "stages": ran, "fails": ["pending", "in_progress", "failed"], "todo": ran, "edit": ran,
        "write": did_not, "rejected": did_not, "closed": did_not, "refused": did_not, "first": ran, "second": ran,
        "third": ran,
    }  # fmt: skip
    assert editor.output("add") == ["2"]
    assert any(": running\nstage " in one for one in editor.output("stages")[:-1])
    assert editor.output("stages")[-1].startswith("20 stages done")
    assert "no such luck" in editor.output("fails")[-1]
    assert editor.said() == "I look.All done."
    assert editor.said(kind=schema.AgentThoughtChunk).startswith("let me see")
    plan = editor.of(schema.AgentPlanUpdate)[-1]
    assert [(one.content, one.status) for one in plan.entries] == [("Dig", "in_progress")]
    usage = editor.of(schema.UsageUpdate)[-1]
    assert (usage.used, usage.size) == (15, 100_000)
    assert editor.of(schema.SessionInfoUpdate)[-1].title.startswith("Look at a.txt")
    asked = {one.tool_call_id: one.raw_input for one in editor.of(schema.ToolCallProgress) if one.raw_input}
    assert asked["edit"] == {"path": "a.txt", "old_text": "one", "new_text": "1"}
    done = [
        one for one in editor.of(schema.ToolCallProgress) if (one.tool_call_id, one.status) == ("edit", "completed")
    ]
    assert done[0].content[0].path == str(folder / "a.txt")


def _check_wire(model: Model) -> None:
    first, second = model.bodies
    messages: Any = first["messages"]
    words, picture = messages[-1]["content"][0]["text"], messages[-1]["content"][1]
    assert words.startswith("Look at a.txt, /elsewhere/open.pythe page (https://page.example/)")
    assert "two\n" in words
    assert "one\n" not in words
    assert "unsaved = True" in words
    assert picture["image_url"]["url"].startswith("data:image/png;base64,")
    results: Any = [one for one in second["messages"] if one["role"] == "tool"]  # pyright: ignore
    assert [one["tool_call_id"] for one in results] == [call.id for call in CALLS]
