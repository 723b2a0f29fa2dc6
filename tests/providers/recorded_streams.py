"""Streams that others recorded, with four calls each: what vLLM, LiteLLM, codex, opencode, Zed and goose test with.

Every event has the fields, the order and the labels of one that stands among the tests of the project named; the calls
are ours. Two turns with them are played by `test_recorded_streams`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tests.providers.odd_endpoints import TOOL, arguments, stream
from tests.providers.strict_wire import ChatRules
from tests.wire_bytes import DONE, Api, split, sse
from tests.wire_server import Reply

Fields = dict[str, Any]
CALLS = range(4)


def _nothing(_: int) -> list[Fields]:
    return []


@dataclass(frozen=True)
class Recorded:
    """An endpoint. `calls` are the events of an answer with four calls, `said` those of the answer to their results.

    `back` is what of an answer with calls has to come back beside them: fields of the message in the chat format, items
    and blocks in the others. `thought` is the reasoning that is shown; `rules` and `takes` are what the endpoint takes
    beyond its format.
    """

    what: str
    api: Api
    calls: Callable[[int], Reply]
    said: Callable[[int], Reply]
    thought: str = ""
    back: Callable[[int], Sequence[Fields]] = _nothing
    rules: ChatRules | None = None


def _id(turn: int, call: int) -> str:
    return f"call_{turn}{call}Rkzbig"


# -- Chat Completions


def _chat(*chunks: Fields | bytes, **every: Any) -> Reply:
    """A stream of `chunks` with `every` field of a chunk."""
    common = {"id": "gen-1", "object": "chat.completion.chunk", "created": 1778031311, "model": "m", **every}
    return stream(*(one if isinstance(one, bytes) else sse({**common, **one}) for one in chunks), DONE)


def _choice(delta: Fields, **fields: Any) -> Fields:
    return {"choices": [{"index": 0, "delta": delta, **fields}]}


def _fragment(turn: int, call: int, *, index: int | None = None, **changed: Any) -> Fields:
    """A whole call in one fragment."""
    function = {"name": TOOL, "arguments": arguments(turn, call)}
    return {"index": call if index is None else index, "id": _id(turn, call), "type": "function",
        "function": function, **changed}  # fmt: skip


def _opening(turn: int, call: int, **changed: Any) -> Fields:
    return _fragment(turn, call, **{"function": {"name": TOOL, "arguments": ""}, **changed})


def _pieces(turn: int, call: int, size: int = 5) -> list[str]:
    return split(arguments(turn, call), size)


def _openrouter(turn: int) -> Reply:
    """The role in every delta, empty pieces before the arguments, and the end twice: alone, and with the usage."""
    plain: Fields = {"finish_reason": None, "native_finish_reason": None}
    beside: Fields = {"content": None, "role": "assistant"}
    events: list[Fields | bytes] = [b": OPENROUTER PROCESSING\n\n"] * 3
    for call in CALLS:
        events.append(_choice({**beside, "tool_calls": [_opening(turn, call)]}, **plain))
        for piece in ("", "", *_pieces(turn, call)):
            events.append(
                _choice({**beside, "tool_calls": [{"index": call, "function": {"arguments": piece}}]}, **plain)
            )
    end = _choice({"content": "", "role": "assistant"}, finish_reason="tool_calls", native_finish_reason="tool_use")
    usage = {"prompt_tokens": 802, "completion_tokens": 66, "cost": 0.00566, "is_byok": False, "cost_details": {"x": 1}}
    return _chat(*events, {**end, "service_tier": "standard"}, {**end, "usage": usage}, provider="Amazon Bedrock")


def _openrouter_said(turn: int) -> Reply:
    """As gpt-oss there: empty reasoning in every delta, and a last chunk with no reason behind the one that had it."""
    empty: Fields = {"role": "assistant", "reasoning": None, "reasoning_details": []}
    plain: Fields = {"native_finish_reason": None, "logprobs": None}
    return _chat(
        b": OPENROUTER PROCESSING\n\n",
        *(_choice({**empty, "content": piece}, finish_reason=None, **plain) for piece in ("", f"Done {turn}", ".")),
        _choice({**empty, "content": ""}, finish_reason="stop", **plain),
        {**_choice({"role": "assistant", "content": ""}, finish_reason=None, **plain), "usage": {"prompt_tokens": 7}},
        provider="OpenInference",
    )


def _xai(turn: int) -> Reply:
    """No finish reason before the last, whole calls with their fields in another order, the usage without choices."""
    call_of = [
        {"id": f"call-45411f06-7c0e-{turn}-{call}", "function": {"name": TOOL, "arguments": arguments(turn, call)},
            "index": call, "type": "function"} for call in CALLS]  # fmt: skip
    return _chat(
        _choice({"reasoning_content": "First", "role": "assistant"}),
        _choice({"reasoning_content": " this."}),
        *(_choice({"tool_calls": [one]}) for one in call_of),
        _choice({}, finish_reason="tool_calls"),
        {"choices": [], "usage": {"prompt_tokens": 250, "completion_tokens": 11, "num_sources_used": 0,
            "prompt_tokens_details": {"cached_tokens": 128}, "cost_in_usd_ticks": 7606000}},
        system_fingerprint="fp_6c10d5e32da08ba2",
    )  # fmt: skip


def _together(turn: int) -> Reply:
    """Empty texts beside each delta, the reason with the last piece, and again with the usage and a token's number."""
    beside: Fields = {"text": "", "logprobs": None}
    begun: Fields = {"token_id": None, "role": "assistant", "content": ""}
    events = [_choice(begun, role="assistant", finish_reason=None, **beside)]
    for call in CALLS:
        events.append(_choice({**begun, "tool_calls": [_opening(turn, call)]}, finish_reason=None, **beside))
        rest = {"index": call, "function": {"arguments": arguments(turn, call)}}
        reason = "tool_calls" if call == CALLS[-1] else None
        events.append(_choice({**begun, "tool_calls": [rest]}, finish_reason=reason, **beside))
    last = _choice({**begun, "token_id": 128009}, finish_reason="tool_calls", seed=9033012299842426000, **beside)
    return _chat(*events, {**last, "usage": {"prompt_tokens": 194, "completion_tokens": 19, "cached_tokens": 0}})


def _groq(turn: int) -> Reply:
    """Short ids, and the usage three times: twice with the reason, and without choices."""
    plain: Fields = {"logprobs": None, "finish_reason": None}
    usage = {"queue_time": 0.03, "prompt_tokens": 237, "completion_tokens": 14, "total_time": 0.05}
    ends = {**_choice({}, logprobs=None, finish_reason="tool_calls"), "x_groq": {"id": "req_1", "usage": usage}}
    calls = [_fragment(turn, call, id=f"4vgxtg{turn}f{call}") for call in CALLS]
    return _chat(
        {**_choice({"role": "assistant", "content": None}, **plain), "x_groq": {"id": "req_1", "seed": 1587279809}},
        *(_choice({"tool_calls": [one]}, **plain) for one in calls),
        {**ends, "usage": usage},
        {"choices": [], "usage": usage, "service_tier": "on_demand"},
        system_fingerprint="fp_43d97c5965",
    )


OPAQUE = "4CUQ6696CwSXOdQ5rtvDimqA91tBzfmga4ieRbmZ5P67T2NLW3"
NO_USAGE = {"completion_tokens": 0, "prompt_tokens": 0, "prompt_tokens_details": {"cached_tokens": 0}}


def _copilot(turn: int) -> Reply:
    """Reasoning in `reasoning_text`, its cipher beside the first call, and the reason in the chunk of the last."""
    beside: Fields = {"content": None, "role": "assistant"}
    signed = [{"reasoning_opaque": f"{OPAQUE}{turn}"} if call == 0 else {} for call in CALLS]
    ends: list[Fields] = [{"finish_reason": "tool_calls"} if call == CALLS[-1] else {} for call in CALLS]
    return _chat(
        _choice({**beside, "reasoning_text": "**First**\n\n"}),
        _choice({**beside, "reasoning_text": "this."}),
        *(_choice({**beside, "tool_calls": [_fragment(turn, call)], **signed[call]}, **ends[call]) for call in CALLS),
        usage=NO_USAGE,
    )


def _copilot_said(turn: int) -> Reply:
    """The cipher of the reasoning with the last words."""
    return _chat(
        _choice({"content": None, "role": "assistant", "reasoning_text": "Then that."}),
        _choice({"content": f"Done {turn}", "role": "assistant"}),
        _choice({"content": ".", "role": "assistant", "reasoning_opaque": OPAQUE}, finish_reason="stop"),
        usage=NO_USAGE,
    )


def _databricks(turn: int) -> Reply:
    """Calls counted from 1 behind text, the reason of null, and a usage without numbers in every chunk."""
    events = [_choice({"role": "assistant", "content": piece}, finish_reason=None) for piece in ("I'll run ", "all.")]
    for call in CALLS:
        events.append(
            _choice({"role": "assistant", "content": None, "tool_calls": [_opening(turn, call, index=call + 1)]})
        )
        for piece in ("", *_pieces(turn, call)):
            rest = {"index": call + 1, "function": {"arguments": piece}}
            events.append(_choice({"role": "assistant", "content": None, "tool_calls": [rest]}, finish_reason=None))
    events.append(_choice({"role": "assistant", "content": ""}, finish_reason="tool_calls"))
    return _chat(*events, usage={"prompt_tokens": 4982, "completion_tokens": None, "total_tokens": None})


def _tetrate(turn: int) -> Reply:
    """The kind of a call again with its arguments."""
    events = [_choice({"role": "assistant"})]
    for call in CALLS:
        rest = {"index": call, "type": "function", "function": {"arguments": arguments(turn, call)}}
        events += [_choice({"tool_calls": [_opening(turn, call)]}), _choice({"tool_calls": [rest]})]
    return _chat(*events, {**_choice({}, finish_reason="tool_calls"), "usage": {"completion_tokens": 79}})


def _codex_chat(turn: int) -> Reply:
    """No index, the id in every piece, no place of the choice, parts without a kind, and an end without a delta."""
    events: list[Fields] = [{"delta": {"content": [{"text": "Hi."}], "reasoning": "First this."}}]
    for call in CALLS:
        pieces = [{"name": TOOL}, *({"arguments": piece} for piece in _pieces(turn, call))]
        events += [{"delta": {"tool_calls": [{"id": _id(turn, call), "function": one}]}} for one in pieces]
    events.append({"finish_reason": "tool_calls"})
    return stream(*(sse({"choices": [one]}, "message") for one in events))


def _vllm(turn: int) -> Reply:
    """Text, and two fragments of one call in one delta, as when several tokens are decoded at once."""
    events = [_choice({"role": "assistant", "content": ""}, logprobs=None, finish_reason=None)]
    events.append(_choice({"reasoning": "First this."}, logprobs=None, finish_reason=None, token_ids=None))
    for call in CALLS:
        header = {"id": f"chatcmpl-tool-{turn}{call}", "type": "function", "index": call, "function": {"name": TOOL}}
        first, *rest = _pieces(turn, call)
        two = [header, {"index": call, "function": {"arguments": first}}]
        events.append(_choice({"content": "\n", "tool_calls": two}, logprobs=None, finish_reason=None))
        events += [_choice({"tool_calls": [{"index": call, "function": {"arguments": one}}]}) for one in rest]
    ends = _choice({"content": ""}, logprobs=None, finish_reason="tool_calls", stop_reason=None, token_ids=None)
    return _chat(*events, ends, {"choices": []})


def _litellm(turn: int) -> Reply:
    """An id of its own for each chunk, every field of null, all calls under index 0, and `stop` for a reason."""
    null: Fields = {"provider_specific_fields": None, "function_call": None, "audio": None}
    events: list[Fields] = []
    for call in CALLS:
        events.append(_choice({**null, "content": None, "tool_calls": [_opening(turn, call, index=0)]}))
        for piece in _pieces(turn, call):
            rest = {"id": None, "type": None, "index": 0, "function": {"arguments": piece, "name": None}}
            events.append(_choice({**null, "content": None, "tool_calls": [rest]}, finish_reason=None))
        if call == 1:
            events.append(_choice({**null, "content": "The weather is nice today.", "tool_calls": None}))
    events.append(_choice({**null, "content": "", "stop_reason": "tool_calls"}, finish_reason="stop"))
    own_ids = [{**one, "id": f"chatcmpl-{number}"} for number, one in enumerate(events)]
    return _chat(
        {"choices": []}, *own_ids, {"choices": [], "usage": {"prompt_tokens": 230}}, provider_specific_fields={}
    )


def calls_in_a_call(turn: int) -> Reply:
    """The calls that gpt-4o wraps into one of `multi_tool_use.parallel`, beside two of its own."""
    inner = ",".join(f'{{"recipient_name":"functions.{TOOL}","parameters":{arguments(turn, call)}}}' for call in (1, 2))
    wrapped = {"name": "multi_tool_use.parallel", "arguments": f'{{"tool_uses":[{inner}]}}'}
    calls = [_fragment(turn, 0), _fragment(turn, 1, function=wrapped), _fragment(turn, 3, index=2)]
    return _chat(*(_choice({"tool_calls": [one]}) for one in calls), _choice({}, finish_reason="tool_calls"))


def _zed_chat(turn: int) -> Reply:
    """A comment and a name before each event, and no blank behind the colon."""
    chunks = [_choice({"tool_calls": [_fragment(turn, call)]}) for call in CALLS]
    events = [sse(one) for one in (*chunks, _choice({}, finish_reason="tool_calls"))]
    return stream(*(b": keepalive\nevent: message\n" + one.replace(b"data: ", b"data:") for one in (*events, DONE)))


def _words(turn: int) -> Reply:
    return _chat(_choice({"role": "assistant", "content": f"Done {turn}."}), _choice({}, finish_reason="stop"))


# -- Responses


def _events(*events: Fields, data: bool = True) -> Reply:
    """Named events; without `data` one that holds nothing but its type is its name alone, as codex' tests write it."""
    bare = [f"event: {one['type']}\n\n".encode() if len(one) == 1 and not data else b"" for one in events]
    return stream(*(alone or sse(one, one["type"]) for one, alone in zip(events, bare, strict=True)))


def _item(turn: int, call: int, **changed: Any) -> Fields:
    return {"type": "function_call", "call_id": _id(turn, call), "name": TOOL, "arguments": arguments(turn, call),
        **changed}  # fmt: skip


def _added(place: int, item: Fields) -> Fields:
    return {"type": "response.output_item.added", "output_index": place, "item": item}


def _done(item: Fields, **where: Any) -> Fields:
    return {"type": "response.output_item.done", "item": item, **where}


def _completed(**fields: Any) -> Fields:
    return {"type": "response.completed", "response": {"id": "resp1", **fields}}


def _message(text: str, **fields: Any) -> Fields:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}], **fields}


USAGE = {"input_tokens": 0, "input_tokens_details": None, "output_tokens": 0, "output_tokens_details": None}


def _codex(turn: int) -> Reply:
    """Ends of items alone, with neither ids nor places nor states, and events that nobody knows."""
    return _events(
        {"type": "response.created"},
        {"type": "response.new_tool_event"},
        *(_done(_item(turn, call)) for call in CALLS),
        _completed(usage=USAGE, output=[]),
        data=False,
    )


def _codex_said(turn: int) -> Reply:
    return _events({"type": "response.created", "response": {}}, _done(_message(f"Done {turn}.")), _completed())


def _phase(turn: int) -> Reply:
    """A word to the user before the calls, which says that it is none of the answer."""
    text, where = "I'll check.", {"item_id": "msg_05", "output_index": 0, "content_index": 0}
    message = {"id": "msg_05", "phase": "commentary", "status": "in_progress"}
    events: list[Fields] = [
        {"type": "response.created", "response": {"id": "resp_05", "status": "in_progress", "output": []}},
        {"type": "response.in_progress", "response": {"id": "resp_05", "status": "in_progress", "output": []}},
        _added(0, {**_message(""), **message, "content": []}),
        {"type": "response.content_part.added", **where, "part": {"type": "output_text", "text": ""}},
        *({"type": "response.output_text.delta", **where, "delta": one, "logprobs": [], "obfuscation": "Ule9oMUrh"}
          for one in split(text, 4)),
        {"type": "response.output_text.done", **where, "text": text},
        {"type": "response.content_part.done", **where, "part": {"type": "output_text", "text": text}},
        _done({**_message(text), **message, "status": "completed"}, output_index=0),
    ]  # fmt: skip
    items = [_item(turn, call, id=f"fc_05{turn}{call}", status="completed") for call in CALLS]
    for place, item in enumerate(items, 1):
        of = {"item_id": item["id"], "output_index": place}
        kind = "response.function_call_arguments"
        events.append(_added(place, {**item, "arguments": "", "status": "in_progress"}))
        events += [
            {"type": f"{kind}.delta", **of, "delta": piece, "obfuscation": "ffpgAi54wR8RDH"}
            for piece in split(item["arguments"], 5)
        ]
        events += [{"type": f"{kind}.done", **of, "arguments": item["arguments"]}, _done(item, output_index=place)]
    listed = [{**_message(text), **message, "status": "completed"}, *items]
    events.append(_completed(status="completed", output=listed, moderation=None, tool_usage={"web_search": {"n": 0}}))
    return _events(*({**one, "sequence_number": number} for number, one in enumerate(events)))


REASONED = {"type": "reasoning", "id": "rs_123", "encrypted_content": "RU5D", "status": "completed"}


def _zed(turn: int) -> Reply:
    """Arguments that begin with their item, ends of arguments and none of items, and reasoning that ends twice."""
    thought = {**REASONED, "summary": [{"type": "summary_text", "text": "First this."}]}
    events = [
        _done({**REASONED, "summary": [], "encrypted_content": "T0xE", "status": "in_progress"}, output_index=0),
        _done(thought, output_index=0),
    ]
    for call in CALLS:
        first, rest = arguments(turn, call)[:4], arguments(turn, call)[4:]
        where = {"item_id": f"item_fn{turn}{call}", "output_index": call + 1}
        kind = "response.function_call_arguments"
        events += [
            _added(call + 1, _item(turn, call, id=where["item_id"], status="in_progress", arguments=first)),
            {"type": f"{kind}.delta", **where, "delta": rest},
            {"type": f"{kind}.done", **where, "arguments": arguments(turn, call)},
        ]
    return _events(*events, _completed())


def _vllm_responses(turn: int) -> Reply:
    """Reasoning in words, a search of its own, and ends of arguments without pieces."""
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed",
        "action": {"type": "find_in_page", "pattern": "vLLM", "url": "cursor:42"}}  # fmt: skip
    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "content": [{"type": "reasoning_text", "text": "Hm."}]}
    of = {"item_id": "rs_1", "output_index": 0, "content_index": 0}
    events: list[Fields] = [
        _added(0, {**thought, "content": None, "status": "in_progress"}),
        {"type": "response.reasoning_part.added", **of, "part": {"type": "reasoning_text", "text": ""}},
        {"type": "response.reasoning_text.delta", **of, "delta": "Hm."},
        {"type": "response.reasoning_text.done", **of, "text": "Hm."},
        {"type": "response.reasoning_part.done", **of, "part": {"type": "reasoning_text", "text": "Hm."}},
        _done({**thought, "status": "completed"}, output_index=0),
        _added(1, {**search, "status": "in_progress"}),
        _done(search, output_index=1),
    ]
    for call in CALLS:
        item = _item(turn, call, id=f"fc_{turn}{call}")
        where = {"item_id": item["id"], "output_index": call + 2}
        events.append(_added(call + 2, {**item, "arguments": "", "status": "in_progress"}))
        events.append(
            {"type": "response.function_call_arguments.done", **where, "name": TOOL, "arguments": item["arguments"]}
        )
        events.append(_done({**item, "status": "completed"}, output_index=call + 2))
    return _events(*events, _completed(status="completed"))


# -- Anthropic


def _blocks(*events: Fields, pad: str = "", end: Iterable[bytes] = ()) -> Reply:
    """Events whose JSON is padded with blanks, as Anthropic pads it."""
    written = (sse(one, one["type"]) for one in events)
    return stream(*(one.replace(b"}\n\n", b"}" + pad.encode() + b"\n\n") for one in written), *end)


def _begin(model: str = "claude-opus-4-7") -> Fields:
    usage = {"input_tokens": 798, "cache_creation": {"ephemeral_5m_input_tokens": 0}, "output_tokens": 0}
    beside = {"content": [], "stop_reason": None, "stop_details": None, "usage": usage}
    return {"type": "message_start", "message": {"model": model, "id": "msg_01", "role": "assistant", **beside}}


def _block(index: int, block: Fields, *deltas: Fields) -> list[Fields]:
    return [
        {"type": "content_block_start", "index": index, "content_block": block},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def _use(turn: int, call: int, **fields: Any) -> Fields:
    return {"type": "tool_use", "id": f"toolu_01M8nJ{turn}{call}", "name": TOOL, "input": {}, **fields}


def _input(piece: str) -> Fields:
    return {"type": "input_json_delta", "partial_json": piece}


def _end(reason: str, **fields: Any) -> list[Fields]:
    delta = {"stop_reason": reason, "stop_sequence": None, "stop_details": None}
    return [
        {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 66}, **fields},
        {"type": "message_stop"},
    ]


def _anthropic(turn: int) -> Reply:
    """Who calls beside each call, a ping inside of a block, and an empty piece before the arguments."""
    first, *rest = (
        _block(call, _use(turn, call, caller={"type": "direct"}), *map(_input, ("", *_pieces(turn, call))))
        for call in CALLS
    )
    events = [_begin(), first[0], {"type": "ping"}, *first[1:], *(event for block in rest for event in block)]
    return _blocks(*events, *_end("tool_use"), pad=" " * 11)


def _anthropic_said(turn: int) -> Reply:
    text = _block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": f"Done {turn}."})
    return _blocks(_begin(), *text, *_end("end_turn"), pad="  ")


def _vllm_anthropic(turn: int) -> Reply:
    """Thinking, and the end mark of another format."""
    thought = [{"type": "thinking_delta", "thinking": "First this."}, {"type": "signature_delta", "signature": "c2ln"}]
    events = _block(0, {"type": "thinking", "thinking": "", "signature": ""}, *thought)
    for call in CALLS:
        events += _block(call + 1, _use(turn, call), _input(arguments(turn, call)))
    return _blocks(_begin("m"), *events, *_end("tool_use"), end=[DONE])


def _litellm_anthropic(turn: int) -> Reply:
    """An empty text before the calls, a blank one between them, and thinking written into a text."""
    events = _block(0, {"type": "text", "text": ""})
    for call in CALLS:
        events += _block(len(events), _use(turn, call, id=f"tooluse_{turn}{call}"), *map(_input, _pieces(turn, call)))
        if call == 1:
            misplaced = [{"type": "text_delta", "text": "Well."}, {"type": "thinking_delta", "thinking": "leaked"}]
            misplaced.append({"type": "signature_delta", "signature": "bGVha2Vk"})
            events += _block(len(events), {"type": "text", "text": ""}, *misplaced)
    return _blocks(_begin("m"), *events, *_end("tool_use", usage={"input_tokens": 230, "output_tokens": 65}))


# -- all of them

GROQ_ID = re.compile(r"[a-z0-9]{9}")
REASONING_CONTENT = ChatRules(fields={"reasoning_content"})
RECORDED = [
    Recorded("opencode: OpenRouter", "openai-chat", _openrouter, _openrouter_said),
    Recorded("opencode: xAI", "openai-chat", _xai, _words, "First this.",
        lambda _: [{"reasoning_content": "First this."}], REASONING_CONTENT),
    Recorded("opencode: Together", "openai-chat", _together, _words),
    Recorded("opencode: Groq", "openai-chat", _groq, _words, rules=ChatRules(GROQ_ID)),
    Recorded("opencode: Copilot", "openai-chat", _copilot, _copilot_said, "**First**\n\nthis.",
        lambda turn: [{"reasoning_text": "**First**\n\nthis.", "reasoning_opaque": f"{OPAQUE}{turn}"}],
        ChatRules(fields={"reasoning_text", "reasoning_opaque"})),
    Recorded("opencode: OpenAI", "openai-responses", _phase, _codex_said,
        back=lambda _: [{"role": "assistant", "content": "I'll check.", "phase": "commentary"}]),
    Recorded("opencode: Anthropic", "anthropic", _anthropic, _anthropic_said,
        back=lambda turn: [_use(turn, 0, input={"n": f"{turn}.0"}, caller={"type": "direct"})]),
    Recorded("goose: Databricks", "openai-chat", _databricks, _words),
    Recorded("goose: Tetrate", "openai-chat", _tetrate, _words),
    Recorded("codex: chat", "openai-chat", _codex_chat, _words, "First this.",
        lambda _: [{"reasoning": "First this."}], ChatRules(fields={"reasoning"})),
    Recorded("codex: Responses", "openai-responses", _codex, _codex_said),
    Recorded("Zed: chat", "openai-chat", _zed_chat, _words),
    Recorded("Zed: Responses", "openai-responses", _zed, _codex_said, "First this.",
        lambda _: [{"type": "reasoning", "id": "rs_123", "encrypted_content": "RU5D",
            "summary": [{"type": "summary_text", "text": "First this."}]}]),
    Recorded("vLLM: chat", "openai-chat", _vllm, _words, "First this.",
        lambda _: [{"reasoning": "First this."}], ChatRules(fields={"reasoning"})),
    Recorded("vLLM: Responses", "openai-responses", _vllm_responses, _codex_said, "Hm.",
        lambda _: [{"type": "reasoning", "id": "rs_1", "summary": [],
            "content": [{"type": "reasoning_text", "text": "Hm."}]}]),
    Recorded("vLLM: Anthropic", "anthropic", _vllm_anthropic, _anthropic_said, "First this.",
        lambda _: [{"type": "thinking", "thinking": "First this.", "signature": "c2ln"}]),
    Recorded("LiteLLM: chat", "openai-chat", _litellm, _words),
    Recorded("LiteLLM: Anthropic", "anthropic", _litellm_anthropic, _anthropic_said),
]  # fmt: skip
