"""Conversations as OpenTelemetry spans by the conventions for generative AI: a span a turn (`invoke_agent`), below it
requests (`chat`) and calls (`execute_tool`). The SDK takes 0.3 s to import, so nobody imports this module who isn't
asked for a trace."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import urlsplit

from google.protobuf.json_format import MessageToDict
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, set_span_in_context

from console_app._version import __version__
from console_app.config.files import disk
from console_app.config.secrets import Redactor
from console_app.domain import Message, Outcome, ToolMessage, UsageError, UserMessage, safe_text
from console_app.domain import events as ev

SCHEMA = "https://opentelemetry.io/schemas/gen-ai-dev/1.42.0-dev"  # the conventions have a repository of their own
BY_HAND = "command"  # the provider of calls that a person makes, which are no request
_IDS = ("traceId", "spanId", "parentSpanId")  # bytes, which OTLP's JSON has as hex and protobuf's as base64
_FLUSHING = 2.0  # seconds at the end
_FAILED = frozenset({Outcome.FAILED, Outcome.TIMED_OUT, Outcome.INVALID, Outcome.INTERRUPTED})


class Trace:
    """Writes spans to a file or sends them to a collector as they end. With `contents` they hold what was said."""

    def __init__(self, target: str, folder: Path, redactor: Redactor, *, contents: bool) -> None:
        self._provider = TracerProvider(
            resource=Resource.create({"service.name": "fanout", "service.version": __version__}),
            shutdown_on_exit=False,
        )
        if urlsplit(target).scheme in ("http", "https"):
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

            endpoint = target if urlsplit(target).path.strip("/") else f"{target.rstrip('/')}/v1/traces"
            self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint)))
        else:
            self._provider.add_span_processor(SimpleSpanProcessor(_JsonLines(folder / Path(target).expanduser())))
        self._tracer = self._provider.get_tracer("fanout", __version__, SCHEMA)
        self._redactor = redactor
        self._contents = contents
        self._conversations: dict[tuple[str, str], _Conversation] = {}  # by session and path of the agent
        self._calls: dict[str, dict[str, Span]] = {}  # of a session with its agents

    def see(self, event: ev.Event, provider: str, model: str) -> None:
        if event.shown_only:
            return
        key = (event.session_id, event.agent)
        conversation = self._conversations.get(key)
        if conversation is None:
            calls = self._calls.setdefault(event.session_id, {})
            conversation = self._conversations[key] = _Conversation(self, calls, event.agent)
        conversation.see(event, provider, model)

    def start(
        self, name: str, event: ev.Event, attributes: Mapping[str, Any], parent: Span | None, kind: SpanKind
    ) -> Span:
        return self._tracer.start_span(
            name,
            context=set_span_in_context(parent) if parent is not None else None,
            kind=kind,
            attributes={"gen_ai.conversation.id": event.session_id, **attributes},
            start_time=_nanoseconds(event),
        )

    def say(self, span: Span, name: str, value: Any) -> None:
        if self._contents:
            span.set_attribute(name, self._redactor.without_known(safe_text.as_text(value)))

    async def close(self) -> None:
        sending = threading.Thread(target=self._provider.shutdown, name="trace", daemon=True)
        sending.start()
        await asyncio.to_thread(sending.join, _FLUSHING)


class _Conversation:
    """The spans of one conversation that are open: the user's, or that of an agent, below the call that sent it."""

    def __init__(self, trace: Trace, calls: dict[str, Span], agent: str) -> None:
        self._trace = trace
        self._name = agent.rpartition("/")[2] or "fanout"
        self._above: Span | None = None
        self._held_with: tuple[str, str] | None = None  # an agent's provider and model
        self._turn: Span | None = None
        self._request: Span | None = None
        self._answered: int | None = None  # when the answer to the open request was whole
        self._calls = calls
        self._joined: list[Any] = []  # messages that no request has carried

    def see(self, event: ev.Event, provider: str, model: str) -> None:
        trace, at = self._trace, _nanoseconds(event)
        provider, model = self._held_with or (provider, model)
        match event:
            case ev.SessionStarted() if event.agent:
                self._above, self._held_with = self._calls.get(event.parent), (event.provider, event.model)
            case ev.TurnStarted():
                about = {
                    "gen_ai.operation.name": "invoke_agent",
                    "gen_ai.agent.name": self._name,
                    "gen_ai.provider.name": provider,
                    "gen_ai.request.model": model,
                    "fanout.turn": event.turn,
                    "fanout.semantic_conventions": SCHEMA,
                }
                self._turn = trace.start(f"invoke_agent {self._name}", event, about, self._above, SpanKind.INTERNAL)
                trace.say(self._turn, "gen_ai.input.messages", [_said("user", event.prompt)])
            case ev.StepStarted() if provider != BY_HAND:
                self._end_request(at)
                about = {
                    "gen_ai.operation.name": "chat",
                    "gen_ai.provider.name": provider,
                    "gen_ai.request.model": model,
                    "gen_ai.request.stream": True,
                }
                self._request = trace.start(f"chat {model}", event, about, self._turn, SpanKind.CLIENT)
                trace.say(self._request, "gen_ai.input.messages", self._joined)
                self._joined = []
            case ev.UsageReported() if self._request is not None and not event.call_id:
                self._request.set_attribute("gen_ai.usage.input_tokens", event.input_tokens)
                self._request.set_attribute("gen_ai.usage.output_tokens", event.output_tokens)
                if event.cached_tokens is not None:
                    self._request.set_attribute("gen_ai.usage.cache_read.input_tokens", event.cached_tokens)
                if event.cost is not None:
                    self._request.set_attribute("fanout.cost", event.cost)
            case ev.RetryScheduled() if self._request is not None:
                self._request.add_event("retry", {"error.type": event.why, "fanout.attempt": event.attempt}, at)
            case ev.MessageAdded():
                self._join(event.message, at)
            case ev.CallAnnounced():
                made_by = self._calls.get(event.parent)  # the call that sent an agent stands above its turn
                parent = self._turn if made_by in (None, self._above) else made_by
                about = {
                    "gen_ai.operation.name": "execute_tool",
                    "gen_ai.tool.name": event.tool or event.name,
                    "gen_ai.tool.call.id": event.call_id,
                    "gen_ai.tool.type": "extension" if event.origin == "provider" else "function",
                    "fanout.server": event.server,
                }
                name = f"execute_tool {event.tool or event.name}"
                self._calls[event.call_id] = trace.start(name, event, about, parent, SpanKind.INTERNAL)
            case ev.CallDropped():
                self._calls.pop(event.call_id, None)
            case ev.CallReady() if (span := self._calls.get(event.call_id)) is not None:
                trace.say(span, "gen_ai.tool.call.arguments", event.arguments)
            case (
                ev.ApprovalRequested() | ev.CallQueued() | ev.CallStarted() | ev.CallDetached() | ev.CallRestarted()
            ) if (span := self._calls.get(event.call_id)) is not None:
                span.add_event(event.type, timestamp=at)
            case ev.ApprovalResolved() if (span := self._calls.get(event.call_id)) is not None:
                span.add_event(event.type, {"fanout.decision": event.decision, "fanout.by": event.by}, at)
                if event.arguments is not None:
                    trace.say(span, "gen_ai.tool.call.arguments", event.arguments)
            case ev.CallFinished() if (span := self._calls.pop(event.call_id, None)) is not None:
                span.set_attribute("fanout.outcome", event.outcome)
                trace.say(span, "gen_ai.tool.call.result", event.content)
                if event.outcome is not Outcome.SUCCEEDED:
                    span.set_attribute("error.type", event.outcome)
                if event.outcome in _FAILED:
                    span.set_status(Status(StatusCode.ERROR))
                span.end(at)
            case ev.TurnFinished():
                self._end_request(at)
                if self._turn is not None:
                    self._turn.set_attribute("fanout.outcome", event.outcome)
                    if event.outcome != "completed":
                        self._turn.set_attribute("error.type", event.outcome)
                    if event.outcome == "failed":
                        self._turn.set_status(Status(StatusCode.ERROR))
                    self._turn.end(at)
                self._turn = None
            case _:
                pass

    def _join(self, message: Message, at: int) -> None:
        if isinstance(message, UserMessage):
            self._joined.append(_said("user", message.content))
        elif isinstance(message, ToolMessage):
            part = {"type": "tool_call_response", "id": message.tool_call_id, "response": message.content}
            self._joined.append({"role": "tool", "parts": [part]})
        elif self._request is not None:
            calls = message.tool_calls
            reason = "tool_call" if calls else "stop"
            self._request.set_attribute("gen_ai.response.finish_reasons", [reason])
            parts: list[dict[str, Any]] = [{"type": "text", "content": message.content}] if message.content else []
            parts += [
                {"type": "tool_call", "id": one.id, "name": one.name, "arguments": one.arguments} for one in calls
            ]
            answer = {"role": "assistant", "parts": parts, "finish_reason": reason}
            self._trace.say(self._request, "gen_ai.output.messages", [answer])
            self._answered = at

    def _end_request(self, at: int) -> None:
        if self._request is not None:
            self._request.end(self._answered or at)
        self._request = self._answered = None


def _said(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


def _nanoseconds(event: ev.Event) -> int:
    return int(event.at * 1e9)


class _JsonLines(SpanExporter):
    """Appends spans to a file of this user alone, a line of OTLP's JSON each, as a collector reads it."""

    def __init__(self, path: Path) -> None:
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, disk.PRIVATE_FILE)
        except OSError as error:
            raise UsageError(f"--trace {path}: {error.strerror or error}", "Name a file or a URL.") from None
        self._file: TextIO = os.fdopen(descriptor, "a", encoding="utf-8")

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        data: dict[str, Any] = MessageToDict(encode_spans(spans), use_integers_for_enums=True)
        for one in data["resourceSpans"]:
            for scope in one["scopeSpans"]:
                for span in scope["spans"]:
                    span.update({name: base64.b64decode(span[name]).hex() for name in _IDS if name in span})
        try:
            self._file.write(json.dumps(data, ensure_ascii=False) + "\n")
            self._file.flush()
        except OSError:  # a full disk: a trace is worth no turn
            return SpanExportResult.FAILURE
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        self._file.close()
