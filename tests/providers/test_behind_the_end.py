"""A stream may go on behind the end mark of its answer: usage is read there, and nothing else is."""

from __future__ import annotations

from console_app.providers.formats.openai_chat_answer import ChatAnswer
from tests.each import each
from tests.providers.reading import TOOLS, answer_to, calls_of, finish_of, text_of, usage_of
from tests.providers.test_any_split import DECODERS, Pieces
from tests.providers.test_half_read_calls import read_body
from tests.wire_bytes import DONE, KEEP_ALIVE, Answer, Text, anthropic_event, chat_call, chat_chunk, chat_usage
from tests.wire_server import Hang, Reply, WireServer

NAME = TOOLS[0].name


@each("alone", [False, True], ids=["with the end mark", "in a piece of its own"])
async def test_usage_behind_the_end_mark_is_read_and_nothing_else_is(alone: bool) -> None:
    behind = [chat_chunk({"content": "More."}), b"data: not JSON\n\n", chat_usage((7, 3, 1)), chat_call(0, name=NAME)]
    events = [chat_chunk({"content": "Four."}), chat_chunk({}, "stop"), DONE, *behind]
    answer = ChatAnswer(TOOLS)
    chunks = await read_body(answer, Pieces(events if alone else [b"".join(events)]))
    assert (text_of(chunks), calls_of(chunks), finish_of(chunks)) == ("Four.", [], "stop")
    assert answer.tokens() == (7, 3, 1)


async def test_usage_behind_the_end_mark_is_not_waited_for(server: WireServer) -> None:
    events = [chat_chunk({"content": "Four."}), chat_chunk({}, "stop"), DONE, KEEP_ALIVE, Hang()]
    chunks = await answer_to(server, "openai-chat", Reply(events))
    assert (text_of(chunks), usage_of(chunks)) == ("Four.", None)


async def test_usage_behind_message_stop_is_read() -> None:
    events = Answer(Text("Four."), usage=None).events("anthropic")
    late = anthropic_event("message_delta", delta={}, usage={"input_tokens": 7, "output_tokens": 3})
    answer = DECODERS["anthropic"](TOOLS)
    chunks = await read_body(answer, Pieces([*events, late]))
    assert (text_of(chunks), finish_of(chunks)) == ("Four.", "stop")
    assert answer.tokens() == (7, 3, 0)
