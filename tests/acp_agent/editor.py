"""An editor for tests: the SDK's own client in front of the real `fanout acp`. It answers as the test says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from acp import schema
from acp.client.connection import ClientSideConnection
from acp.connection import StreamDirection, StreamEvent

from tests.patience import PATIENCE
from tests.program.process import Fanout, Piped

TEXT = schema.TextContentBlock
CAN = schema.ClientCapabilities.model_validate({"elicitation": {"form": {}, "url": {}}})


class Editor:
    """The editor's end of a connection. `asked` are the permissions that it was asked for, by call: whoever answers
    sets the result of the future."""

    agent: ClientSideConnection
    process: Piped

    def __init__(self) -> None:
        self.updates: list[tuple[str, Any]] = []
        self.asked: dict[str, tuple[schema.ToolCallUpdate, list[schema.PermissionOption], asyncio.Future[Any]]] = {}
        self.forms: list[tuple[str, Any, asyncio.Future[Any]]] = []
        self.taken_back: list[Any] = []
        self.requests: list[str] = []  # the methods of what the agent asked
        self.newest: Any = None  # the number of the newest request
        self._changed = asyncio.Event()

    # -- what the agent asks

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.updates.append((session_id, update))
        self._changed.set()

    async def request_permission(
        self, session_id: str, tool_call: schema.ToolCallUpdate, options: list[schema.PermissionOption], **_: Any
    ) -> schema.RequestPermissionResponse:
        answer = asyncio.get_running_loop().create_future()
        self.asked[tool_call.tool_call_id] = (tool_call, options, answer)
        self._changed.set()
        picked = await answer
        outcome: Any = {"outcome": "selected", "optionId": picked} if picked else {"outcome": "cancelled"}
        return schema.RequestPermissionResponse.model_validate({"outcome": outcome})

    async def create_elicitation(self, message: str, mode: Any, **_: Any) -> Any:
        answer = asyncio.get_running_loop().create_future()
        self.forms.append((message, mode, answer))
        self._changed.set()
        return await answer

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        raise AssertionError(f"{method} is no part of the protocol")

    def seen(self, event: StreamEvent) -> None:
        """Every message as it passes."""
        assert event.message["jsonrpc"] == "2.0"
        if event.direction is StreamDirection.OUTGOING and "id" in event.message and "method" in event.message:
            self.newest = event.message["id"]
            self._changed.set()
        elif "id" in event.message and "method" in event.message:
            self.requests.append(event.message["method"])
        elif event.message.get("method") == "$/cancel_request":
            self.taken_back.append(event.message["params"]["requestId"])
            self._changed.set()

    # -- for tests

    async def until(self, there: Callable[[], Any], what: str) -> Any:
        """Return the value of `there` once it has one."""
        try:
            async with asyncio.timeout(PATIENCE):
                while not (found := there()):
                    self._changed.clear()
                    await self._changed.wait()
                return found
        except TimeoutError:
            raise TimeoutError(f"waited for {what}") from None

    async def asks_for(self, call_id: str) -> tuple[schema.ToolCallUpdate, list[schema.PermissionOption]]:
        """Return the call and the options of a question."""
        call, options, _ = await self.until(lambda: self.asked.get(call_id), f"the question for {call_id}")
        return call, options

    async def answer(self, call_id: str, picked: str) -> None:
        """Takes an option; "" for none, as when its question was closed."""
        await self.asks_for(call_id)
        self.asked.pop(call_id)[2].set_result(picked)

    def of(self, kind: type, session_id: str = "") -> list[Any]:
        """The updates of one kind."""
        return [one for id, one in self.updates if isinstance(one, kind) and session_id in ("", id)]

    def said(self, session_id: str = "", kind: type = schema.AgentMessageChunk) -> str:
        """The words of the answer so far."""
        return "".join(one.content.text for one in self.of(kind, session_id))

    def calls(self, session_id: str = "") -> dict[str, list[str]]:
        """The states that each call went through."""
        found: dict[str, list[str]] = {}
        for one in self.of(schema.ToolCallStart, session_id):
            found[one.tool_call_id] = [one.status]
        for one in self.of(schema.ToolCallProgress, session_id):
            if one.status:
                found[one.tool_call_id].append(one.status)
        return found

    def output(self, call_id: str) -> list[str]:
        """Each text that a call showed."""
        return [
            part.content.text
            for one in self.of(schema.ToolCallProgress)
            if one.tool_call_id == call_id
            for part in one.content or ()
            if part.type == "content" and part.content.type == "text"
        ]

    def write(self, **message: Any) -> None:
        """A message that the SDK has no method for."""
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0"} | message).encode() + b"\n")

    async def ask(self, session_id: str, *blocks: Any) -> str:
        """Sends a prompt; why the turn stopped."""
        whole = [TEXT(type="text", text=one) if isinstance(one, str) else one for one in blocks]
        return (await self.agent.prompt(session_id=session_id, prompt=whole)).stop_reason


@asynccontextmanager
async def opened(
    fanout: Fanout, *arguments: str, env: Mapping[str, str] | None = None, can: schema.ClientCapabilities = CAN
) -> AsyncGenerator[Editor]:
    """An editor that began to talk to `fanout acp`; at the end it closes its side, and the program goes by itself."""
    editor = Editor()
    async with fanout.piped("acp", *arguments, env=env) as process:
        editor.process = process
        editor.agent = ClientSideConnection(
            lambda _: editor, process.stdin, process.stdout, use_unstable_protocol=True, observers=[editor.seen]
        )
        try:
            await editor.agent.initialize(protocol_version=1, client_capabilities=can)
            yield editor
            process.stdin.close()
            async with asyncio.timeout(PATIENCE):
                assert await process.wait() == 0, (await process.stderr.read()).decode()
        finally:
            await editor.agent.close()


def stdio(name: str, command: Sequence[str], **env: str) -> schema.McpServerStdio:
    """A server that the editor names."""
    variables = [schema.EnvVariable(name=key, value=value) for key, value in env.items()]
    return schema.McpServerStdio(name=name, command=command[0], args=list(command[1:]), env=variables)


def as_arguments(**values: Any) -> str:
    """The JSON text of a call's arguments."""
    return json.dumps(values)
