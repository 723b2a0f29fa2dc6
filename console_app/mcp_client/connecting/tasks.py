"""Calls that their server runs as tasks: it gives an id at once, and is asked how the task stands until it is over.

A task outlives the connection that began it. In 2025-11-25 a call asks to be one, and its result is fetched on its own;
from 2026-07-28 on (an extension) the server decides, and how a task stands says its result, its error or its questions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, Literal

from mcp import Client, MCPError
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from mcp.client.session import ClientSession
from mcp_types import (
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    CancelTaskRequest,
    CancelTaskRequestParams,
    ErrorData,
    GetTaskPayloadRequest,
    GetTaskPayloadRequestParams,
    GetTaskRequest,
    GetTaskRequestParams,
    Request,
    RequestParams,
    Result,
    TaskMetadata,
    Tool,
)
from pydantic import Field, TypeAdapter

from console_app.domain import safe_text
from console_app.mcp_client.connecting.faults import CallRefused
from console_app.mcp_client.connecting.wire import WireCall, current_call

EXTENSION: Final = "io.modelcontextprotocol/tasks"
_POLL_SECONDS = 1.0  # where the server names no interval,
_SHORTEST, _LONGEST = 0.1, 30.0  # and the bounds of one that it names
_CANCEL_SECONDS = 2.0  # for a server to hear that a task is given up
_OVER: Final = ("completed", "failed", "cancelled")
_RAW: Any = TypeAdapter(dict[str, Any])  # the SDK's own models refuse what they don't know
Answer = Callable[[str, Mapping[str, Any]], Awaitable[Any]]
"""Answers a question of a task, by its method and parameters."""
Resolver = Callable[[ClientSession, str], Awaitable[CallToolResult]]


class _Updates(RequestParams):
    task_id: str
    input_responses: dict[str, Any]


class _UpdateTask(Request[_Updates, Literal["tasks/update"]]):
    method: Literal["tasks/update"] = "tasks/update"
    params: _Updates


class _Begun(Result):
    """The answer to a call that its server made a task of."""

    result_type: Literal["task"] = Field(alias="resultType", default="task")
    task_id: str = Field(alias="taskId")


class TaskExtension(ClientExtension):
    """Tells a server of 2026-07-28 that calls may become tasks; `resolve` waits for one."""

    identifier = EXTENSION

    def __init__(self, resolve: Resolver) -> None:
        self._resolve = resolve

    def claims(self) -> Sequence[ResultClaim[Any]]:
        async def resolve(begun: _Begun, context: ClaimContext) -> CallToolResult:
            return await self._resolve(context.session, begun.task_id)

        return (ResultClaim(result_type="task", model=_Begun, resolve=resolve),)


def wants_task(client: Client, tool: Tool) -> bool:
    """Return whether calls of a tool are to be tasks: where it runs in no other way, or in that one too."""
    support = tool.execution.task_support if tool.execution is not None else None
    offered = client.server_capabilities.tasks
    able = offered is not None and offered.requests is not None and offered.requests.tools is not None
    return support == "required" or (support == "optional" and able)


async def begin(client: Client, tool: str, arguments: dict[str, Any], meta: Any) -> tuple[str, CallToolResult | None]:
    """Make a call a task; return its id, or "" and the result where the server ran the call at once."""
    params = CallToolRequestParams(name=tool, arguments=arguments, task=TaskMetadata(), _meta=meta)
    raw: dict[str, Any] = await client.session.send_request(CallToolRequest(params=params), _RAW)
    task = safe_text.as_object(raw.get("task")).get("taskId")
    return (task, None) if isinstance(task, str) and task else ("", CallToolResult.model_validate(raw, by_name=False))


async def follow(session: ClientSession, task: str, answer: Answer) -> CallToolResult:
    """Return the result of a task once it is over. Cancelling the awaiting task cancels it at the server.

    Raises CallRefused where it failed without a result, and what the SDK raises where the connection is lost.
    """
    call = current_call.get()
    result: asyncio.Task[CallToolResult] | None = None
    answered: set[str] = set()
    try:
        while True:
            state: dict[str, Any] = await session.send_request(
                GetTaskRequest(params=GetTaskRequestParams(task_id=task)), _RAW
            )
            status, said = str(state.get("status")), state.get("statusMessage")
            told = said if isinstance(said, str) else ""
            _tell(call, status, told)
            if (inline := _inline(state)) is not None:
                return inline
            asked = safe_text.as_object(state.get("inputRequests"))
            if new := {key: value for key, value in asked.items() if key not in answered}:
                answered |= new.keys()
                await _answer(session, task, new, answer)
            elif result is None and (status in _OVER or (status == "input_required" and not asked)):
                # The server asks on the way of the result, which waits until the task is over.
                result = asyncio.create_task(_fetched(session, task), name="result of a task")
            if result is None:
                await asyncio.sleep(_interval(state))
            else:
                await asyncio.wait({result}, timeout=_interval(state))
                if result.done():
                    return _ended(result, status, told)
    except asyncio.CancelledError:
        with suppress(Exception):
            async with asyncio.timeout(_CANCEL_SECONDS):
                request = CancelTaskRequest(params=CancelTaskRequestParams(task_id=task))
                await session.send_request(request, _RAW)
        raise
    finally:
        if result is not None:
            result.cancel()
            await asyncio.gather(result, return_exceptions=True)


def _tell(call: WireCall | None, status: str, told: str) -> None:
    if call is not None:
        call.stands(f"{status}: {told}" if told and status != "working" else told or f"task {status}")


def _interval(state: Mapping[str, Any]) -> float:
    named = state.get("pollIntervalMs", state.get("pollInterval"))
    seconds = named / 1000 if isinstance(named, int | float) and not isinstance(named, bool) else _POLL_SECONDS
    return min(max(seconds, _SHORTEST), _LONGEST)


def _inline(state: Mapping[str, Any]) -> CallToolResult | None:
    """Return the result that the state of a task holds, from 2026-07-28 on."""
    status = state.get("status")
    if status == "completed" and "result" in state:
        return CallToolResult.model_validate(state["result"], by_name=False)
    if status == "failed" and (error := safe_text.as_object(state.get("error"))):
        raise CallRefused(str(error.get("message") or "the task failed"))
    return None


async def _fetched(session: ClientSession, task: str) -> CallToolResult:
    request = GetTaskPayloadRequest(params=GetTaskPayloadRequestParams(task_id=task))
    return await session.send_request(request, CallToolResult)


def _ended(result: asyncio.Task[CallToolResult], status: str, told: str) -> CallToolResult:
    try:
        return result.result()
    except MCPError as error:
        if status not in ("failed", "cancelled"):
            raise
        raise CallRefused(f"The task was {status}: {told or error.message}") from error


async def _answer(session: ClientSession, task: str, asked: Mapping[str, Any], answer: Answer) -> None:
    responses: dict[str, Any] = {}
    for key, question in asked.items():
        fields = safe_text.as_object(question)
        given = await answer(str(fields.get("method")), safe_text.as_object(fields.get("params")))
        if not isinstance(given, ErrorData):
            responses[key] = given.model_dump(by_alias=True, mode="json", exclude_none=True)
    await session.send_request(_UpdateTask(params=_Updates(task_id=task, input_responses=responses)), _RAW)
