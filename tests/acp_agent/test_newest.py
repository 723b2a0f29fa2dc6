"""The newest words of the protocol: what an editor may take beside the least, and the draft of version 2."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.acp_agent.model import Model
from tests.patience import PATIENCE
from tests.program.process import ROOT, Fanout, Piped
from tests.wire_bytes import Answer, Call, Text
from tests.wire_server import WireServer

ASKING = str(ROOT / "tests/mcp_client/fixtures/asking_server.py")


class Wire:
    """An editor that writes and reads lines, for what the SDK's client has no words."""

    def __init__(self, process: Piped) -> None:
        self._process = process
        self.seen: list[dict[str, Any]] = []

    def write(self, **message: Any) -> None:
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    async def ask(self, number: int, method: str, **params: Any) -> dict[str, Any]:
        """The answer to a request: all that comes before it is kept in `seen`."""
        self.write(id=number, method=method, params=params)
        return await self.until(lambda one: one.get("id") == number and "method" not in one)

    async def until(self, wanted: Any) -> dict[str, Any]:
        """The next message that is wanted."""
        async with asyncio.timeout(PATIENCE):
            while True:
                message = json.loads(await self._process.stdout.readline())
                self.seen.append(message)
                if wanted(message):
                    return message

    def updates(self, kind: str) -> list[dict[str, Any]]:
        told = [one["params"]["update"] for one in self.seen if one.get("method") == "session/update"]
        return [one for one in told if one["sessionUpdate"] == kind]


@asynccontextmanager
async def wired(tmp_path: Path, model: Model, *more: str) -> AsyncGenerator[tuple[Wire, Fanout]]:
    fanout = Fanout(tmp_path)
    fanout.write("home/mcp.json", '{"mcpServers": {}}')
    with WireServer(model) as server:
        base = server.base_url("openai-chat")
        async with fanout.piped("acp", "-m", "openai/test-model", "--base-url", base, *more) as process:
            yield Wire(process), fanout
            process.stdin.close()
            async with asyncio.timeout(PATIENCE):
                assert await process.wait() == 0


def server_of(**more: Any) -> dict[str, Any]:
    return {"name": "asks", "command": sys.executable, "args": [ASKING], "env": [], **more}


async def test_more_folders_a_logout_and_notices(tmp_path: Path) -> None:
    model = Model()
    model.answers = {
        "Where": [Answer(Call("asks_where", "{}", "w")), Answer(Text("There."))],
    }
    other = tmp_path / "other"
    other.mkdir()
    async with wired(tmp_path, model, "--allow-tool", "asks.*") as (editor, fanout):
        can = {"session": {"notices": {}, "compaction": {}}}
        said = (await editor.ask(1, "initialize", protocolVersion=1, clientCapabilities=can))["result"]
        assert said["agentCapabilities"]["sessionCapabilities"]["additionalDirectories"] == {}
        assert said["agentCapabilities"]["auth"] == {"logout": {}}
        (method,) = said["authMethods"]
        folder = {"cwd": str(fanout.cwd), "mcpServers": [server_of()]}
        refused = await editor.ask(2, "session/new", **folder, additionalDirectories=["no/path"])
        assert "additionalDirectories has to be the absolute path of a folder: no/path" in refused["error"]["message"]
        session = (await editor.ask(3, "session/new", **folder, additionalDirectories=[str(other)]))["result"][
            "sessionId"
        ]

        def words(text: str) -> dict[str, Any]:
            return {"sessionId": session, "prompt": [{"type": "text", "text": text}]}

        assert (await editor.ask(4, "session/prompt", **words("Where are you?")))["result"]["stopReason"] == "end_turn"
        (end,) = [one for one in editor.updates("tool_call_update") if one.get("status") == "completed"]
        assert other.as_uri() in json.dumps(end)
        assert fanout.cwd.as_uri() in json.dumps(end)
        await editor.ask(5, "session/prompt", **words("/cost"))
        assert all(one["severity"] in ("info", "warning") and one["title"] for one in editor.updates("notice"))
        assert editor.updates("notice")
        assert await editor.ask(7, "logout") == {"jsonrpc": "2.0", "id": 7, "result": {}}
        assert (await editor.ask(8, "session/new", **folder))["error"]["code"] == -32000
        await editor.ask(9, "authenticate", methodId=method["id"])
        assert "result" in await editor.ask(10, "session/new", **folder)


async def test_the_draft_of_version_2(tmp_path: Path) -> None:
    model = Model()
    calls = [Call("asks_where", "{}", "slow"), Call("asks_say", "{}", "quick")]
    model.answers = {"Both": [Answer(*calls), Answer(Text("One was stopped."))]}
    async with wired(tmp_path, model) as (editor, fanout):
        said = (await editor.ask(1, "initialize", protocolVersion=2, info={"name": "e", "version": "1"}))["result"]
        assert said["protocolVersion"] == 2
        assert said["capabilities"]["session"]["mcp"] == {"stdio": {}, "http": {}}
        made = await editor.ask(2, "session/new", cwd=str(fanout.cwd), mcpServers=[server_of(type="stdio")])
        session = made["result"]["sessionId"]
        assert "modes" not in made["result"]
        assert [one["configId"] for one in made["result"]["configOptions"]] == ["mode", "model", "effort"]
        prompt = [{"type": "text", "text": "Both at once"}]
        accepted = await editor.ask(3, "session/prompt", sessionId=session, prompt=prompt)
        assert set(accepted["result"]) == {"messageId"}
        asked = {}
        for _ in calls:
            question = await editor.until(lambda one: one.get("method") == "session/request_permission")
            asked[question["params"]["subject"]["toolCall"]["toolCallId"]] = question
        assert asked["slow"]["params"]["title"].startswith("asks · where")
        assert await editor.ask(4, "tool_call/cancel", sessionId=session, toolCallId="slow") == {
            "jsonrpc": "2.0", "id": 4, "result": {}
        }  # fmt: skip
        assert (await editor.ask(5, "tool_call/cancel", sessionId=session, toolCallId="none"))["error"][
            "code"
        ] == -32602
        editor.write(id=asked["quick"]["id"], result={"outcome": {"outcome": "selected", "optionId": "once"}})

        def idle(one: dict[str, Any]) -> bool:
            return one.get("params", {}).get("update", {}).get("state") == "idle"

        assert (await editor.until(idle))["params"]["update"]["stopReason"] == "end_turn"
        ends = {one["toolCallId"]: one["status"] for one in editor.updates("tool_call_update") if "status" in one}
        assert ends == {"slow": "cancelled", "quick": "completed"}
        states = [one["state"] for one in editor.updates("state_update")]
        assert states[0] == "running"
        assert "requires_action" in states
        assert not [one for one in editor.seen if one.get("id") == 3 and one is not accepted and "method" not in one]
        (mine,) = editor.updates("user_message")
        assert mine == {
            "sessionUpdate": "user_message",
            "messageId": accepted["result"]["messageId"],
            "content": prompt,
        }
        again = await editor.ask(
            6, "session/resume", cwd=str(fanout.cwd), sessionId=session, mcpServers=[], replayFrom={"type": "start"}
        )
        assert again["result"]["configOptions"][0]["configId"] == "mode"
        assert editor.updates("user_message_chunk")[-1]["content"]["text"] == "Both at once"


async def test_a_linked_file_goes_along_as_it_is_edited_and_else_as_it_is_saved(tmp_path: Path) -> None:
    model = Model()
    model.answers = {"Look": [Answer(Text("Seen."))], "Again": [Answer(Text("Seen."))]}
    async with wired(tmp_path, model) as (editor, fanout):
        fanout.write("a.txt", "saved one\nsaved two\n")
        can = {"fs": {"readTextFile": True}}
        await editor.ask(1, "initialize", protocolVersion=1, clientCapabilities=can)
        made = await editor.ask(2, "session/new", cwd=str(fanout.cwd), mcpServers=[])
        link = {"type": "resource_link", "name": "a.txt", "uri": (fanout.cwd / "a.txt").as_uri() + "#L2:2"}
        for number, (word, answer) in enumerate([
            ("Look", {"result": {"content": "edited one\nedited two\n"}}),
            ("Again", {"error": {"code": -32603, "message": "it is not open"}}),
        ]):  # fmt: skip
            prompt = [{"type": "text", "text": f"{word} at "}, link]
            given = {"sessionId": made["result"]["sessionId"], "prompt": prompt}
            editor.write(id=10 + number, method="session/prompt", params=given)
            asked = await editor.until(lambda one: one.get("method") == "fs/read_text_file")
            assert asked["params"] == {
                "sessionId": made["result"]["sessionId"], "path": str(fanout.cwd / "a.txt")
            }  # fmt: skip
            editor.write(id=asked["id"], **answer)
            await editor.until(lambda one, last=10 + number: one.get("id") == last and "method" not in one)
    first, second = (json.dumps(body["messages"]) for body in model.bodies[-2:])
    assert "edited two" in first
    assert "edited one" not in first
    assert "saved two" in second
