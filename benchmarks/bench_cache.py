"""Measures how much a fan-out reads from the provider's prompt cache:
`python -m benchmarks.bench_cache [STEPS CALLS] [--found N]`.

A turn of the real engine over a real connection; the local endpoint counts hits by the rule that Anthropic publishes
(`tests/prompt_cache.py`). Each step asks for CALLS calls at once, of a catalogue of 60 tools. What a step adds (its
calls, which the model wrote, and their results) is sent for the first time and in no cache, so wherever the marks stand
the share of all input stays below 100 % by just that: with B tokens of tools, system prompt and question, and X that
each of N steps adds, N·X of N·B + X·N·(N+1)/2. What marks decide, and is held here, is the share of what was sent
before. With `--found` the tools are behind the model's search, which it uses in the first step, and again every so many
steps: found tools join the list behind the others, and what stands behind the list is read anew then.
"""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import replace

from benchmarks.console import parser, row
from console_app.domain import events as ev
from tests.engine.peers import Tools, engine_of, play, spec
from tests.prompt_cache import Counted, PromptCache
from tests.providers.reading import provider_at
from tests.wire_bytes import Answer, Call, Text
from tests.wire_server import Request, WireServer

WANTED = 0.95
TOOLS = 60
SCHEMA = {
    "type": "object",
    "properties": {
        name: {"type": "string", "description": f"The {name} that the call is about, as it is known at the server."}
        for name in ("path", "query", "owner", "since", "until")
    },
}


class Endpoint:
    """Answers with so many calls a step, then with a sentence, and counts what it read from its cache."""

    def __init__(self, steps: int, calls: int, found: int) -> None:
        self.counted: list[Counted] = []
        self._steps, self._calls, self._found = steps, calls, found
        self._cache = PromptCache()

    def answer(self, request: Request) -> Answer:
        """To one request."""
        one = self._cache.take(request.body)
        self.counted.append(one)
        step, usage = len(self.counted), (one.total, 100, one.read)
        if step > self._steps:
            return Answer(Text("Done."), usage=usage)
        if self._found and step % self._found == 1:
            search = Call(
                "fanout_find_tools", json.dumps({"query": f"demo_do_{0 if step == 1 else 9 + step}"}), f"find_{step}"
            )
            return Answer(search, usage=usage)
        calls = [
            Call("demo_do_0", json.dumps({"n": f"{step}_{n}"}), f"call_{step}_{n}", size=100)
            for n in range(self._calls)
        ]
        return Answer(Text(f"Step {step}."), *calls, usage=usage)


async def measure(steps: int, calls: int, found: int = 0) -> tuple[float, float]:
    """Shares that were read from the cache: of what the request before had sent, after the first request; and of all
    input after the first step."""
    endpoint = Endpoint(steps, calls, found)
    with WireServer(endpoint.answer) as server:
        provider = provider_at(server, "anthropic")
        tools = Tools(
            [spec(f"do_{n}", description="Reads what is there. " * 10, input_schema=SCHEMA) for n in range(TOOLS)]
        )
        engine = engine_of(provider, tools, max_steps=steps + 1, system_prompt="Be brief. " * 200)
        engine.settings = replace(engine.settings, tools="search" if found else "all")
        seen = await play(engine)
        await provider.close()
    usage = [event for event in seen if isinstance(event, ev.UsageReported)][1:]
    sent = sum(event.input_tokens for event in usage)
    cached = sum(event.cached_tokens or 0 for event in usage)
    known = sum(one.total for one in endpoint.counted[:-1])
    row(f"{steps} steps of {calls} calls: input after the first request", f"{sent:,} tokens")
    row("read from the cache", f"{cached / sent:.2%}")
    later = [(event.input_tokens, event.cached_tokens or 0) for event in usage[1:]]
    share = sum(read for _, read in later) / sum(whole for whole, _ in later) if later else 1.0
    row("  once the results of the first step were sent", f"{share:.2%}")
    row("sent for the first time: the calls and results of the newest step", f"{(sent - known) / sent:.1%}")
    row("sent before and not read: what marks could still win", f"{(known - cached) / sent:.1%}")
    row("read from the cache, of what the request before had sent", f"{cached / known:.1%}")
    return cached / known, share


def main() -> None:
    """Ends with 1 where less of what an earlier request had sent is read than is wanted."""
    words = parser(__doc__)
    words.add_argument("steps", metavar="STEPS", type=int, nargs="?", default=20)
    words.add_argument("calls", metavar="CALLS", type=int, nargs="?", default=32, help="of a step")
    words.add_argument("--found", metavar="N", type=int, default=0, help="steps from one search for a tool to the next")
    given = words.parse_args()
    steps, calls = given.steps, given.calls
    known, share = asyncio.run(measure(steps, calls, given.found))
    held = known if len(sys.argv) > 1 else min(known, share)
    if held < WANTED:
        sys.exit(f"{held:.2%} is less than {WANTED:.0%}")


if __name__ == "__main__":
    main()
