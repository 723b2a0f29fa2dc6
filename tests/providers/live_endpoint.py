"""An endpoint that answers what `fanout endpoint test` asks as a model would, with habits that can be switched on."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from tests.wire_bytes import (
    DONE,
    Answer,
    Call,
    Reasoning,
    Text,
    chat_call,
    chat_chunk,
    chat_usage,
)
from tests.wire_server import Reply, Request

WORDS = ("one", "two", "three", "four")
LIMITS = {"x-ratelimit-limit-requests": "600", "x-ratelimit-remaining-requests": "599"}


class LiveEndpoint:
    """Call it with a request. `habits` are names, each of one thing that it does in its own way."""

    def __init__(self, *habits: str) -> None:
        self._habits = frozenset(habits)

    def __call__(self, request: Request) -> Reply | Answer:
        if request.method == "GET":
            return Reply.json({"data": [{"id": "test-model"}]})
        body = request.body
        if (refusal := self._refusal(body)) is not None:
            return refusal
        return self._answer(request, json.dumps(body))

    def _refusal(self, body: dict[str, Any]) -> Reply | None:
        whole = json.dumps(body)
        refused = ""
        if "refuses pictures" in self._habits and ("image_url" in whole or '"image"' in whole):
            refused = "This model does not support image input"
        if "refuses unknown fields" in self._habits and "fanout_test_of_an_unknown_field" in body:
            refused = "Unknown parameter: 'fanout_test_of_an_unknown_field'"
        if "refuses what it does not say" in self._habits and "fanout_test_of_an_unknown_field" in body:
            refused = "Bad request"
        if "refuses stream options" in self._habits and "stream_options" in body:
            refused = "Unknown field: stream_options"
        if "refuses results" in self._habits and ('"tool"' in whole and "tool_call_id" in whole):
            return Reply.json({"error": {"message": "no results here"}}, 404)
        return Reply.json({"error": {"message": refused}}, 400) if refused else None

    def _answer(self, request: Request, whole: str) -> Reply | Answer:
        usage = None if "counts nothing" in self._habits else (10, 5, 2)
        if any(word in whole for word in ("image_url", "input_image", '"image"')):
            return Answer(Text("Red."), usage=usage)
        if "noted" in whole:
            return Answer(Text("done"), usage=usage)
        if "four times" in whole:
            return self._called(request, WORDS)
        if "Call test_note once" in whole:
            return self._called(request, WORDS[:1])
        if "1 to 500" in whole:
            hides = "hides a cut" in self._habits
            return Answer(Text("1\n2\n3"), finish="stop" if hides else "length", usage=usage)
        if "1 to 120" in whole:
            return Answer(Text("\n".join(map(str, range(1, 121)))), usage=usage)
        return Answer(Text("yes"), usage=usage)

    def _called(self, request: Request, words: Iterable[str]) -> Reply | Answer:
        calls = [json.dumps({"word": word}) for word in words]
        if "one call an answer" in self._habits:
            calls = calls[:1]
        if "never calls" in self._habits:
            return Answer(Text("I would rather not."))
        match request.api:
            case "openai-chat" if self._habits & {"all under index 0", "no labels later"}:
                return Reply(
                    [*self._chat(calls), chat_chunk({}, "tool_calls"), chat_usage((10, 5, 2)), DONE], headers=LIMITS
                )
            case "anthropic" if "no closing blocks" in self._habits:
                events = Answer(*(Call("test_note", one) for one in calls)).events("anthropic")
                return Reply([one for one in events if b"content_block_stop" not in one], headers=LIMITS)
            case api:
                assert api is not None
                usage = None if "counts nothing" in self._habits else (10, 5, 2)
                answer = Answer(Reasoning("Hm."), *(Call("test_note", one) for one in calls), usage=usage)
                return Reply(answer.events(api), headers=LIMITS)

    def _chat(self, calls: Iterable[str]) -> Iterable[bytes]:
        for number, arguments in enumerate(calls):
            index = 0 if "all under index 0" in self._habits else number
            later = None if "no labels later" in self._habits else index
            yield chat_call(index, id=f"call_{number}", name="test_note", arguments="")
            yield chat_call(later, arguments=arguments)
