"""/request: the messages that the next request would carry, and those of the last one as it was sent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from console_app.domain import AssistantMessage, Message, ToolMessage, UserMessage, plural, ports
from console_app.engine import LEFT_OUT, Engine

MOST_MESSAGES = 200  # the newest
MOST_OF_ONE = 4_000  # characters
NEXT, LAST = "The next request, before what you write now", "The last request, as it was sent"


def request_report(engine: Engine) -> str:
    """What /request shows. The text of a message is what the model reads, attachments and notes too."""
    lines = [NEXT, "", *_lines(engine.next_request())]
    if (last := engine.last_request) is None:
        return "\n".join([*lines, LAST, "", "No request was sent since this session was opened."])
    return "\n".join([*lines, LAST, "", *_lines(last)])


def _lines(request: ports.ModelRequest) -> Iterator[str]:
    tools = ", ".join(tool.name for tool in request.tools)
    yield f"{_count(request.messages, 'message')}, {_count(request.tools, 'tool')}{f': {tools}' if tools else ''}"
    yield ""
    if request.system:
        yield from ("INSTRUCTIONS", _cut(request.system), "")
    shown = request.messages[-MOST_MESSAGES:]
    if before := len(request.messages) - len(shown):
        went = "message before these goes" if before == 1 else "messages before these go"
        yield from (f"({before:,} {went} along)", "")
    for message in shown:
        yield from (*_message(message), "")


def _count(things: Sequence[object], word: str) -> str:
    return f"{len(things):,} {word}{'' if len(things) == 1 else 's'}"


def _message(message: Message) -> Iterator[str]:
    match message:
        case UserMessage():
            yield "YOU" if message.origin == "user" else "FANOUT, in your place"
            yield _cut(message.whole)
        case AssistantMessage():
            yield "THE MODEL"
            if message.content:
                yield _cut(message.content)
            yield from (f"call {call.id}: {call.name} {_cut(call.arguments)}" for call in message.tool_calls)
        case ToolMessage():
            yield f"RESULT of {message.name}, call {message.tool_call_id}: {message.outcome.value.replace('_', ' ')}"
            yield _cut(message.content)
            if (left_out := LEFT_OUT.search(message.content)) is not None and left_out.end() > MOST_OF_ONE:
                yield left_out[0]


def _cut(text: str) -> str:
    more = len(text) - MOST_OF_ONE
    return text if more <= 0 else f"{text[:MOST_OF_ONE]}\n… {plural(more, 'character')} more"
