"""Turns with two calls each on endpoints that stray from their format: two, or one outside of `make explore`.

Whatever they do: what ran are the calls whose end was sent, each once and with its own arguments; every request is one
that a strict validator takes; a turn that fails says so in one line; and nothing hangs.
"""

from __future__ import annotations

import asyncio
from typing import Any

from console_app.domain import events as ev
from console_app.domain.events import Decision
from console_app.domain.safe_text import is_safe
from console_app.engine import Turn
from console_app.providers.stream.loose_json import arr, obj, text
from tests.each import each
from tests.engine.peers import Tools, ending, engine_of, play, spec
from tests.examples import EXPLORING
from tests.patience import PATIENCE
from tests.providers import strict_wire
from tests.providers.odd_anthropic import ANTHROPIC
from tests.providers.odd_chat import CHAT
from tests.providers.odd_endpoints import Odd
from tests.providers.odd_responses import RESPONSES
from tests.providers.reading import provider_at
from tests.wire_bytes import Api
from tests.wire_server import Request, Scripted, WireServer

ODD: list[tuple[Api, Odd]] = [
    *(("openai-chat", odd) for odd in CHAT),
    *(("openai-responses", odd) for odd in RESPONSES),
    *(("anthropic", odd) for odd in ANTHROPIC),
]


class Endpoint:
    """Answers as `odd` does, in the turn that goes on."""

    def __init__(self, odd: Odd) -> None:
        self.odd = odd
        self.turn = 1
        self._before = list(odd.before)

    def __call__(self, request: Request) -> Scripted:
        if self._before:
            return self._before.pop(0)
        asked = _last_text(request.body).endswith(prompt_of(self.turn))
        return self.odd.calls(self.turn) if asked else self.odd.said(self.turn)


def prompt_of(turn: int) -> str:
    return f"turn {turn}"


def _last_text(body: dict[str, Any]) -> str:
    """The text that a request ends with, "" for a result."""
    last = obj((arr(body.get("messages")) or arr(body.get("input")))[-1])
    if last.get("role") != "user":
        return ""
    blocks = arr(last.get("content"))
    return text(obj(blocks[-1]).get("text")) if blocks else text(last.get("content"))


def _allow(turn: Turn, event: ev.Event) -> None:
    if isinstance(event, ev.ApprovalRequested):
        turn.resolve(event.call_id, Decision.ALLOW)


CASES = [(api, odd, 2 if EXPLORING or number % 8 == 0 else 1) for number, (api, odd) in enumerate(ODD)]


@each(("api", "odd", "turns"), CASES, ids=[f"{api}: {odd.what}" for api, odd in ODD])
async def test_turns_with_two_calls(api: Api, odd: Odd, turns: int) -> None:
    endpoint, tools = Endpoint(odd), Tools([spec(), spec("undo")])
    with WireServer(endpoint) as server:
        provider = provider_at(server, api)
        engine = engine_of(provider, tools)
        try:
            async with asyncio.timeout(PATIENCE):
                for turn in range(1, turns + 1):
                    endpoint.turn = turn
                    _check(odd, turn, await play(engine, prompt_of(turn), _allow), tools)
        finally:
            await provider.close()
    for request in server.requests:
        _judge(api, odd, request.body)


def _judge(api: Api, odd: Odd, body: dict[str, Any]) -> None:
    odd.mend(body)
    if api == "openai-chat":
        strict_wire.check_chat(body, odd.rules)
    else:
        strict_wire.check(api, body)


def _check(odd: Odd, turn: int, seen: list[ev.Event], tools: Tools) -> None:
    ran = [invocation.arguments.get("n") for invocation in tools.ran]
    tools.ran.clear()
    asked = [event.why for event in seen if isinstance(event, ev.ApprovalRequested)]
    assert asked or not odd.what.endswith(": asks")
    assert sorted(map(str, ran)) == [f"{turn}.{call}" for call in odd.runs]
    end = ending(seen)
    assert end.outcome == ("completed" if odd.goes_well else "failed"), end.error
    lines = [end.error or "", *(event.text for event in seen if isinstance(event, ev.Notice))]
    of_calls = [event.content for event in seen if isinstance(event, ev.CallFinished)]
    assert odd.told in "\n".join(lines + of_calls)
    for said in lines:
        assert is_safe(said), said
        assert "\n" not in said, said
        assert len(said) < 700, said
        assert "Traceback" not in said, said
        assert "Error(" not in said, said
    assert odd.goes_well or end.error
