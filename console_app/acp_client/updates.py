"""The updates of an agent as events of its conversation. It may tell of a call in any order, only in part, or after its
end. What it doesn't say is not made up: a call of unknown start starts where it ends, and an update for an unknown id
is none."""

from __future__ import annotations

import asyncio
import difflib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from console_app.acp_client.wire import AgentError
from console_app.domain import AssistantMessage, Outcome, Reasoning, ToolSpec, one_line, ports, safe_text
from console_app.domain import events as ev
from console_app.domain.tools import ServerIdentity, ToolAnnotations
from console_app.records import dataclass, field

MOST_TEXT = 4 * 2**20  # characters that one task may say
MOST_CALLS = 2_000
MOST_CONTENT = 2**20  # characters of a call's result
MOST_LISTED = 200  # steps of a plan, and pieces of what a call gave
_GATHERED = 0.03  # seconds in which pieces of text become one
_FENCED = re.compile(r"\A```[\w-]*\n(.*?)\n?```\s*\Z", re.DOTALL)
_READS = frozenset({"read", "search", "think", "fetch"})
_KINDS = _READS | {"edit", "delete", "move", "execute", "switch_mode", "other"}
_DONE = {"completed": Outcome.SUCCEEDED, "failed": Outcome.FAILED}
_TODO = {one.value: one for one in ev.TodoStatus}


@dataclass(slots=True)
class AgentCall:
    id: str  # ours
    tool: str = "other"
    kind: str = "other"
    title: str = ""
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])
    content: tuple[Any, ...] = ()
    raw_output: Any = None
    output: str = ""  # told while it ran
    ready: bool = False
    started: bool = False
    denied: bool = False
    finished: bool = False

    @property
    def shown(self) -> dict[str, Any]:
        """Return the arguments for a panel: the agent's own, else its title for the call."""
        return self.arguments or ({"title": self.title} if self.title else {})


class AgentUpdates:
    """The answer to one prompt, told to `host`. `name` is the agent's, `identity` its program, `spent` earlier
    dollars."""

    def __init__(self, name: str, identity: ServerIdentity, host: ports.AgentHost, spent: float = 0.0) -> None:
        self._name, self._identity = name, identity
        self._host = host
        self.calls: dict[str, AgentCall] = {}
        self.spent = spent
        self._waiting: list[tuple[bool, str]] = []  # text that isn't told yet, with whether it is reasoning
        self._timer: asyncio.TimerHandle | None = None
        self._segment: list[str] = []  # of the answer since the newest call
        self._last = ""  # the newest segment that said something
        self.kept: tuple[Reasoning, ...] = ()  # with each message, for a later run of the agent
        self._size = 0
        self._priced = spent > 0  # it tells its price
        self.over = True  # it answers nothing now, so that what it tells belongs to nothing

    # What the agent says

    def take(self, update: Mapping[str, Any]) -> None:
        if self.over:
            return
        match update.get("sessionUpdate"):
            case "agent_message_chunk":
                self._say(_text(update.get("content")), reasoning=False)
            case "agent_thought_chunk":
                self._say(_text(update.get("content")), reasoning=True)
            case "tool_call":
                self.call(update, begin=True)
            case "tool_call_update":
                self.call(update, begin=False)
            case "plan":
                self._plan(update.get("entries"))
            case "usage_update":
                cost = safe_text.as_object(update.get("cost"))
                amount = cost.get("amount")
                if isinstance(amount, int | float) and cost.get("currency", "USD") == "USD" and amount > self.spent:
                    self._host.tell(ev.UsageReported(input_tokens=0, output_tokens=0, cost=amount - self.spent))
                    self.spent, self._priced = float(amount), True
            case "current_mode_update":
                self._host.progress(f"mode {one_line(str(update.get('currentModeId')), 60)}")
            case _:
                pass  # what it offers, its title, and what newer versions of the protocol add

    def report_usage(self, said: Any) -> None:
        tokens = {
            name: value for name, value in safe_text.as_object(said).items() if isinstance(value, int) and value >= 0
        }
        if tokens:
            self._host.tell(
                ev.UsageReported(
                    input_tokens=tokens.get("inputTokens", 0),
                    output_tokens=tokens.get("outputTokens", 0),
                    cached_tokens=tokens.get("cachedReadTokens"),
                    cost=0.0 if self._priced else None,
                )
            )

    def _say(self, text: str, *, reasoning: bool) -> None:
        if not text:
            return
        self._count(len(text))
        self._waiting.append((reasoning, text))
        if not reasoning:
            self._segment.append(text)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_GATHERED, self.flush)

    def _count(self, characters: int) -> None:
        self._size += characters
        if self._size > MOST_TEXT:
            raise AgentError(f"it said more than {MOST_TEXT:,} characters in one answer")

    def flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        waiting, self._waiting = self._waiting, []
        while waiting:
            reasoning = waiting[0][0]
            count = next((at for at, (kind, _) in enumerate(waiting) if kind is not reasoning), len(waiting))
            text = "".join(piece for _, piece in waiting[:count])
            self._host.tell(ev.ReasoningDelta(text=text) if reasoning else ev.TextDelta(text=text))
            waiting = waiting[count:]

    def end_segment(self) -> None:
        self.flush()
        if text := "".join(self._segment).strip():
            self._last = text
            self._host.tell(ev.MessageAdded.of(AssistantMessage(content=text, reasoning=self.kept)))
        self._segment = []

    def _plan(self, entries: Any) -> None:
        items = [
            ev.TodoItem(
                content=one_line(str(entry.get("content", "")), 300),
                status=_TODO.get(str(entry.get("status")), ev.TodoStatus.PENDING),
            )
            for entry in map(safe_text.as_object, safe_text.as_list(entries)[:MOST_LISTED])
        ]
        self._host.tell(ev.TodoChanged(items=tuple(items)))

    # Its calls

    def call(self, said: Mapping[str, Any], *, begin: bool) -> AgentCall | None:
        given = said.get("toolCallId")
        if not isinstance(given, str) or not given:
            return None
        call = self.calls.get(given)
        if call is None:
            if not begin:
                return None
            if len(self.calls) >= MOST_CALLS:
                raise AgentError(f"it made more than {MOST_CALLS:,} calls in one answer")
            call = self.calls[given] = self._announced(given, said)
        if not call.finished:
            if isinstance(title := said.get("title"), str):
                call.title = one_line(title, 300)
            before = call.shown
            raw = said.get("rawInput")
            if isinstance(raw, dict) and raw:
                call.arguments = cast("dict[str, Any]", raw)
            elif raw not in (None, {}, "", []):
                call.arguments = {"input": raw}
            if isinstance(content := said.get("content"), list):
                call.content = tuple(cast("list[Any]", content)[:MOST_LISTED])
            if said.get("rawOutput") is not None:
                call.raw_output = said["rawOutput"]
            status = said.get("status")
            if call.arguments or status in ("in_progress", "completed", "failed"):
                self.make_ready(call, again=call.shown != before)
            if status == "in_progress" and not call.started:
                self.start(call)
            self._tell_output(call, said)
            if isinstance(status, str) and (outcome := _DONE.get(status)) is not None:
                self._finish(call, outcome)
        return call

    def _announced(self, given: str, said: Mapping[str, Any]) -> AgentCall:
        self.end_segment()
        call = AgentCall(self._host.new_call_id(given))
        kind = said.get("kind")
        call.kind = kind if isinstance(kind, str) and kind in _KINDS else "other"
        call.tool = one_line(str(_own_name(said) or call.kind), 60)
        self._host.tell(
            ev.CallAnnounced(
                call_id=call.id,
                index=len(self.calls),
                name=f"{self._name}_{call.tool}",
                server=self._name,
                tool=call.tool,
                origin="provider",
            )
        )
        return call

    def make_ready(self, call: AgentCall, *, again: bool = False) -> None:
        if not call.ready or again:
            self._count(len(json.dumps(call.shown, default=str)))
            call.ready = True
            self._host.tell(ev.CallReady(call_id=call.id, arguments=call.shown))

    def start(self, call: AgentCall) -> None:
        """Start a call, as its agent says or a person allowed."""
        call.started = True
        self._host.tell(ev.CallStarted(call_id=call.id))

    def _tell_output(self, call: AgentCall, said: Mapping[str, Any]) -> None:
        delta = safe_text.as_object(said.get("_meta")).get(
            "terminal_output_delta", safe_text.as_object(said.get("_meta")).get("terminal_output")
        )
        if delta is not None:
            about = safe_text.as_object(delta)
            piece = str(about.get("data", about.get("delta", about.get("output", "")))) if about else str(delta)
        elif said.get("status") == "in_progress" and call.content:
            text = _without_fence(_result_of(call.content))
            piece = text[len(call.output) :] if text.startswith(call.output) else ""
        else:
            return
        if not piece or not call.started:
            return
        self._count(len(piece))
        offset = safe_text.size_of(call.output)
        call.output += piece
        self._host.tell(ev.CallOutput(call_id=call.id, stream="text", text=piece, offset=offset))

    def _finish(self, call: AgentCall, outcome: Outcome) -> None:
        if not call.started and not call.denied:
            self.start(call)
        content = _without_fence(_result_of(call.content)) or _raw(call.raw_output) or call.output
        content = content[:MOST_CONTENT]
        if call.denied and outcome is Outcome.SUCCEEDED:
            words = f"{self._name} says that it made a call which was denied: {call.title or call.tool}"
            self._host.tell(ev.Notice(level="warning", text=words))
        elif call.denied:
            outcome = Outcome.DENIED
        self._end(call, outcome, content)

    def _end(self, call: AgentCall, outcome: Outcome, content: str) -> None:
        call.finished = True
        error = one_line(content, 200) if outcome is Outcome.FAILED else None
        self._count(len(content))
        self._host.tell(ev.CallFinished(call_id=call.id, outcome=outcome, content=content, error=error))

    def spec(self, call: AgentCall) -> ToolSpec:
        """Return the call's tool as rules and the board see it: of a server called as the agent, whose word on its
        effect is a hint."""
        reads = call.kind in _READS
        return ToolSpec(
            name=f"{self._name}_{call.tool}",
            server=self._name,
            tool=call.tool,
            description=call.title,
            input_schema={"type": "object"},
            annotations=ToolAnnotations(read_only=reads and call.kind != "fetch", destructive=not reads),
            identity=self._identity,
        )

    def end_prompt(self, outcome: Outcome) -> str:
        """End an answer and its open calls with this outcome. Return the last words."""
        self.end_segment()
        for call in self.calls.values():
            if not call.finished:
                self._end(call, Outcome.DENIED if call.denied else outcome, call.output)
        return self._last

    def end(self) -> None:
        """Take nothing more, until another prompt is answered."""
        self.over = True


def _own_name(said: Mapping[str, Any]) -> str:
    if isinstance(name := said.get("name"), str) and name:
        return name
    for about in safe_text.as_object(said.get("_meta")).values():
        if isinstance(name := safe_text.as_object(about).get("toolName"), str) and name:
            return name
    return ""


def _result_of(content: Sequence[Any]) -> str:
    parts: list[str] = []
    for one in map(safe_text.as_object, content):
        match one.get("type"):
            case "diff":
                path = one_line(str(one.get("path", "")), 500)
                old, new = (str(one.get(name) or "").splitlines() for name in ("oldText", "newText"))
                before = "/dev/null" if one.get("oldText") is None else f"a/{path.lstrip('/')}"
                parts.append("\n".join(difflib.unified_diff(old, new, before, f"b/{path.lstrip('/')}", lineterm="")))
            case "content":
                parts.append(_text(one.get("content")))
            case _:
                pass  # a terminal is a call of its own here
    return "\n".join(part for part in parts if part)


def _text(content: Any) -> str:
    block = safe_text.as_object(content)
    match block.get("type"):
        case "text":
            return str(block.get("text", ""))
        case "resource_link":
            return str(block.get("uri", ""))
        case "resource":
            return str(safe_text.as_object(block.get("resource")).get("text", ""))
        case "image" | "audio" as kind:
            return f"[{kind}]"
        case _:
            return ""


def _raw(output: Any) -> str:
    if isinstance(output, dict):
        for name in ("formatted_output", "output", "text", "stdout"):
            if isinstance(text := cast("dict[str, Any]", output).get(name), str) and text:
                return text
    return "" if output is None else output if isinstance(output, str) else json.dumps(output, default=str)


def _without_fence(text: str) -> str:
    fenced = _FENCED.match(text)
    return fenced[1] if fenced is not None else text
