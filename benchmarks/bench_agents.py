"""Measures what the staggered start of agents saves: `python -m benchmarks.bench_agents [AGENTS STEPS]`.

A turn of the real engine sends AGENTS agents of one kind over a real connection; each makes STEPS calls. They have one
beginning: 60 tools and a system prompt. The local endpoint counts hits by the rule that Anthropic publishes
(`tests/prompt_cache.py`), and a beginning can be read from its cache once the first token of an answer to it was sent,
half a second after the request. So agents that start together each write the beginning anew. The costs are told in
tokens of plain input: what is read from the cache at a tenth, what is written to it at five quarters.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Sequence

from benchmarks.bench_cache import SCHEMA, TOOLS
from benchmarks.console import parser, row
from console_app.domain import ApprovalMode, Event
from console_app.domain.settings import EngineSettings
from console_app.engine import ApprovalGate, Engine
from console_app.engine import agents as engine_agents
from tests.engine.peers import Tools, play, spec
from tests.prompt_cache import Counted, PromptCache
from tests.providers.reading import provider_at
from tests.wire_bytes import Answer, Call, Text
from tests.wire_server import Pause, Reply, Request, WireServer

FIRST_TOKEN = 0.5  # seconds
READ, WRITTEN = 0.1, 1.25  # of the price of plain input
WANTED = 0.5  # of what the beginnings cost without a stagger


class Endpoint:
    """Answers the parent with agents, and each agent with calls and a sentence; counts what it read from its cache."""

    def __init__(self, agents: int, steps: int) -> None:
        self.counted: list[Counted] = []  # of the agents' requests
        self._agents, self._steps = agents, steps
        self._caches: list[tuple[float, PromptCache]] = []  # each with when its beginnings can be read

    def answer(self, request: Request) -> Reply:
        """To one request."""
        messages = request.body["messages"]
        results = sum(message["role"] == "user" for message in messages) - 1
        if "agent " not in json.dumps(messages[0]):
            tasks = [Call("fanout_agent", json.dumps({"task": f"agent {n}"}), f"a_{n}") for n in range(self._agents)]
            return self._reply(Answer(Text("Done.")) if results else Answer(*tasks))
        self.counted.append(self._taken(request))
        if results >= self._steps:
            return self._reply(Answer(Text("Found.")))
        call = Call("demo_do_0", json.dumps({"n": f"{len(self.counted)}"}), f"c_{len(self.counted)}")
        return self._reply(Answer(call))

    def _taken(self, request: Request) -> Counted:
        now = time.monotonic()
        known = PromptCache()
        for ready, cache in self._caches:
            if ready <= now:
                known.learn(cache)
        counted, own = known.take(request.body), PromptCache()
        own.take(request.body)
        self._caches.append((now + FIRST_TOKEN, own))
        return counted

    def _reply(self, answer: Answer) -> Reply:
        return Reply([Pause(FIRST_TOKEN), *answer.events("anthropic")])


async def measure(agents: int, steps: int, stagger: float) -> tuple[float, float]:
    """Return the cost of the agents' input, in tokens of plain input, and the seconds that the turn took."""
    engine_agents.STAGGER = stagger
    endpoint, tools = (
        Endpoint(agents, steps),
        Tools([spec(f"do_{n}", description="Reads what is there. " * 10, input_schema=SCHEMA) for n in range(TOOLS)]),
    )
    with WireServer(endpoint.answer) as server:
        provider = provider_at(server, "anthropic")
        engine = Engine(
            provider=provider,
            toolset=tools,
            settings=EngineSettings(
                tools="all", ask_agents=agents, max_agents=agents, system_prompt="Be brief. " * 200
            ),
            gate=ApprovalGate(ApprovalMode.YOLO),
            agents=dict,
        )
        began = time.monotonic()
        events = await play(engine)
        took = time.monotonic() - began
        await provider.close()
    counted = endpoint.counted
    cost = sum(one.read * READ + one.written * WRITTEN + one.fresh for one in counted)
    how = "staggered" if stagger else "all at once"
    row(f"{how}: input of {agents} agents of {steps} steps", f"{sum(one.total for one in counted):,} tokens")
    row("  read from the cache", f"{sum(one.read for one in counted) / sum(one.total for one in counted):.1%}")
    row("  costs as much as plain input of", f"{cost:,.0f} tokens")
    spans = [(times[0], times[-1]) for times in _times(events).values()]
    longest = max(end - start for start, end in spans)
    together = max(end for _, end in spans) - min(start for start, _ in spans)
    row("  took", f"{took:.1f} s", f"{together / longest:.2f} x the longest agent, of {longest:.1f} s")
    return cost, took


def _times(events: Sequence[Event]) -> dict[str, list[float]]:
    """When each agent told of something."""
    times: dict[str, list[float]] = {}
    for event in events:
        if event.agent:
            times.setdefault(event.agent, []).append(event.at)
    return times


def main() -> None:
    """Ends with 1 where the stagger saves less than is wanted."""
    words = parser(__doc__)
    words.add_argument("agents", metavar="AGENTS", type=int, nargs="?", default=8)
    words.add_argument("steps", metavar="STEPS", type=int, nargs="?", default=3, help="of an agent")
    given = words.parse_args()
    usual = engine_agents.STAGGER
    together, _ = asyncio.run(measure(given.agents, given.steps, 0))
    staggered, _ = asyncio.run(measure(given.agents, given.steps, usual))
    row("the stagger saves", f"{1 - staggered / together:.0%}")
    if len(sys.argv) == 1 and staggered > WANTED * together:
        sys.exit(f"{staggered / together:.0%} of the cost is more than {WANTED:.0%}")


if __name__ == "__main__":
    main()
