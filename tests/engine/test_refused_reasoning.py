"""Reasoning that its endpoint refused is forgotten by the history, also once the session is resumed."""

from __future__ import annotations

import json

from console_app.domain import events as ev
from console_app.domain.transcript import Transcript
from tests.each import each
from tests.engine.peers import engine_of, play
from tests.providers.reading import provider_at
from tests.wire_bytes import Answer, Api, Reasoning, Text
from tests.wire_server import Reply, WireServer

REFUSED = {
    "anthropic": "messages.1.content.0: Invalid `signature` in `thinking` block",
    "openai-responses": "The encrypted content for item rs_1 could not be verified.",
}


@each("api", ["anthropic", "openai-responses"])
async def test_a_resumed_session_sends_it_no_more(api: Api) -> None:
    with WireServer() as server:
        refusal = Reply.json({"error": {"message": REFUSED[api], "code": "invalid_encrypted_content"}}, 400)
        thought, fresh = (
            Answer(Reasoning("Hm.", "c3RhbGU="), Text("1")),
            Answer(Reasoning("So.", "ZnJlc2g="), Text("2")),
        )
        server.script(thought, refusal, fresh, Answer(Text("3")), Answer(Text("4")))
        provider = provider_at(server, api)
        engine = engine_of(provider)
        events = [event for _ in range(3) for event in await play(engine)]
        await provider.close()
        stored = [ev.EVENT.validate_json(event.model_dump_json()) for event in events if not event.shown_only]
        transcript = Transcript()
        for event in stored:
            transcript.apply(event)
        another = provider_at(server, api)
        resumed = engine_of(another)
        resumed.go_on("s", transcript)
        later = await play(resumed)
        await another.close()
    told = [event.text for event in events if isinstance(event, ev.Notice)]
    assert told == ["test refuses the reasoning of older answers: the request is sent again without it."]
    assert not [event for event in later if isinstance(event, ev.Notice)]
    sent = [json.dumps(one.body) for one in server.requests]
    assert ["c3RhbGU=" in body for body in sent] == [False, True, False, False, False]
    assert ["ZnJlc2g=" in body for body in sent] == [False, False, False, True, True]
    first = next(event for event in events if isinstance(event, ev.MessageAdded) and event.role == "assistant")
    assert first.reasoning  # what was stored stays
