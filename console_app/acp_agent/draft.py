"""The draft of version 2 of the protocol, put into version 1 and back, a message at a time. In it a prompt is answered
once accepted and a state ends its turn, updates are upserts by id, and one call can be cancelled (schema-v2 of
agentclientprotocol.com)."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

VERSION = 2
CANCEL_CALL = "tool_call/cancel"
Message = dict[str, Any]


class DraftVersion:
    """A connection. `on` is set by the editor's first message, where that offers the draft."""

    def __init__(self) -> None:
        self.on = False
        self._methods: dict[Any, str] = {}  # of the editor's requests that have no answer yet
        self._prompts: dict[Any, Message] = {}  # of them, prompts that were not accepted yet
        self._accepted: dict[Any, str] = {}  # prompts that still run, and their conversations
        self._asking: dict[Any, str] = {}  # questions that the editor has not answered, and their conversations

    def read(self, message: Message) -> Iterator[Message]:
        method, params = message.get("method"), table(message.get("params"))
        if method == "initialize" and isinstance(params.get("protocolVersion"), int):
            self.on = params["protocolVersion"] == VERSION
        if not self.on:
            yield message
            return
        if not isinstance(method, str):
            yield message
            return
        self._methods[message.get("id")] = method
        match method:
            case "initialize":
                can: Message = {**table(params.get("capabilities")), "session": {"notices": {}, "compaction": {}}}
                params = {"protocolVersion": 1, "clientCapabilities": can}
            case "session/new" | "session/resume":
                params["mcpServers"] = [*map(_without_type, params.get("mcpServers") or ())]
                if params.pop("replayFrom", None) is not None:
                    method = "session/load"
            case "session/prompt":
                self._prompts[message.get("id")] = params
            case "session/set_config_option" if params.get("type") == "id":
                del params["type"]
            case "auth/login":
                method = "authenticate"
            case "auth/logout":
                method = "logout"
            case _:
                pass
        yield {**message, "method": method, "params": params}

    def answered(self, number: Any) -> Iterator[Message]:
        if (session := self._asking.pop(number, None)) is not None and session not in self._asking.values():
            yield _update(session, _state("running"))

    def accepted(self, session: str) -> Iterator[Message]:
        for number, params in self._prompts.items():
            if params.get("sessionId") == session:
                del self._prompts[number]
                self._accepted[number] = session
                of = {"messageId": f"prompt-{number}"}
                yield {"id": number, "result": of}
                yield _update(session, {"sessionUpdate": "user_message", **of, "content": params.get("prompt")})
                yield _update(session, _state("running"))
                return

    def written(self, message: Message) -> Iterator[Message]:
        number, method, params = message.get("id"), message.get("method"), table(message.get("params"))
        if not self.on:
            yield message
        elif method == "session/update":
            if (update := _upsert(params["update"])) is not None:
                yield _update(params["sessionId"], update)
        elif method in ("session/request_permission", "elicitation/create"):
            session = self._asking[number] = str(params.get("sessionId", ""))
            if method == "session/request_permission":
                call = _upsert({"sessionUpdate": "tool_call_update", **params.pop("toolCall")}) or {}
                del call["sessionUpdate"]
                title = call.get("title") or "May this call run?"
                params = {**params, "title": title, "subject": {"type": "tool_call", "toolCall": call}}
            yield {**message, "params": params}
            yield _update(session, _state("requires_action"))
        elif method is not None:
            yield message
            if method == "$/cancel_request":
                yield from self.answered(params.get("requestId"))
        elif (session := self._accepted.pop(number, None)) is not None:
            yield _update(session, _ended(message))
        else:
            self._prompts.pop(number, None)
            asked = self._methods.pop(number, "")
            yield {**message, "result": _result(asked, message["result"])} if message.get("result") else message


def _ended(message: Message) -> Message:
    if "error" in message:
        return {**_state("idle"), "stopReason": "error", "error": message["error"]}
    return {**_state("idle"), "stopReason": message["result"]["stopReason"]}


def _update(session: str, update: Message) -> Message:
    return {"method": "session/update", "params": {"sessionId": session, "update": update}}


def _state(state: str) -> Message:
    return {"sessionUpdate": "state_update", "state": state}


def table(value: Any) -> Message:
    return {**cast("Message", value)} if isinstance(value, dict) else {}


def _without_type(server: Any) -> Any:
    """Drop the type of a program, which version 1 knows by its having none."""
    fields = table(server)
    if fields.get("type") != "stdio":
        return server
    del fields["type"]
    return {"args": [], "env": [], **fields}


def _result(method: str, result: Message) -> Message:
    if method == "initialize":
        can = result["agentCapabilities"]
        session: Message = {
            "prompt": {"image": {}, "embeddedContext": {}},
            "mcp": {"stdio": {}, "http": {}},
            "delete": {},
            "additionalDirectories": {},
        }
        methods = [
            {"type": "agent", **{k: v for k, v in one.items() if k != "id"}, "methodId": one["id"]}
            for one in result.get("authMethods", ())
        ]
        return {
            "protocolVersion": VERSION,
            "info": result["agentInfo"],
            "capabilities": {"session": session, "auth": can.get("auth", {})},
            "authMethods": methods,
        }
    return {
        key: _options(value) if key == "configOptions" else value for key, value in result.items() if key != "modes"
    }


def _options(options: Sequence[Message]) -> list[Message]:
    return [{**{k: v for k, v in one.items() if k != "id"}, "configId": one["id"]} for one in options]


def _upsert(update: Message) -> Message | None:
    match update["sessionUpdate"]:
        case "current_mode_update":  # a mode is an option there
            return None
        case "config_option_update":
            return {**update, "configOptions": _options(update["configOptions"])}
        case "plan":
            plan = {"type": "items", "planId": "todo", "entries": update["entries"]}
            return {"sessionUpdate": "plan_update", "plan": plan}
        case "available_commands_update":
            return {**update, "availableCommands": [_command(one) for one in update["availableCommands"]]}
        case "tool_call" | "tool_call_update" as kind:
            call: Message = {**update, "sessionUpdate": "tool_call_update"}
            if kind == "tool_call":
                call["status"] = update.get("status", "pending")
            if call.get("status") in ("pending", "in_progress"):
                call["capabilities"] = {"cancel": {}}
            elif "status" in call:
                call["capabilities"] = {}
                if table(call.get("_meta")).get("fanout/verdict") == "stopped":
                    call["status"] = "cancelled"
            if call.get("content"):
                call["content"] = [_diff(one) if one["type"] == "diff" else one for one in call["content"]]
            return call
        case _:
            return update


def _command(command: Message) -> Message:
    hint = {"input": {"type": "text", **command["input"]}} if command.get("input") else {}
    return {"type": "command", **command, **hint}


def _diff(diff: Mapping[str, Any]) -> Message:
    path, old, new = diff["path"], diff.get("oldText") or "", diff["newText"]
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), path if old else "/dev/null", path, lineterm="")
    text = "\n".join((f"diff --git {path} {path}", *lines, ""))
    change = {"operation": "modify" if old else "add", "path": path}
    return {"type": "diff", "changes": [change], "patch": {"format": "git_patch", "text": text}}
