"""All benchmarks, or those named: `python -m benchmarks [start idle tokens calls agents first rounds headless]`.

Every figure is of whole processes in a real pseudo-terminal against a local endpoint. Times are seconds, the smaller
the better; where a figure can be a ratio to a yardstick of the same run, that is what is worth comparing between
machines.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from statistics import median

from benchmarks.console import PROBES, SERVERS, Console, Endpoint, fanout, fanout_env, parser, percentile, row

PROMPT = "go\r"


def start(endpoint: Endpoint) -> None:
    """From exec to a typed letter on the screen, beside an empty Textual app; and `fanout --version`."""

    loaded: list[float] = []

    def to_echo(argv: list[str], last: str = "") -> float:
        home = Path(tempfile.mkdtemp(prefix="fanout-bench-"))
        with Console(argv, fanout_env(home, endpoint.url)) as console:
            echo = console.first_echo() - console.started
            if last:
                loaded.append(console.seen(last) - console.started)
            return echo

    def version() -> float:
        begun = time.monotonic()
        subprocess.run([sys.executable, "-m", "console_app", "--version"], stdout=subprocess.DEVNULL, check=True)
        return time.monotonic() - begun

    empty = median(to_echo([sys.executable, "-m", "benchmarks.empty_app"]) for _ in range(5))
    argv = [sys.executable, "-m", "console_app", "-m", "openai/tokens-10"]
    ours = median(to_echo(argv, last="tokens-10") for _ in range(5))
    row("exec to a key answered: an empty Textual app", f"{empty:.2f} s")
    row("exec to a key answered: fanout", f"{ours:.2f} s", f"{ours / empty:.2f} x")
    row("exec to the chat screen, which knows its model", f"{median(loaded):.2f} s", f"{median(loaded) / empty:.2f} x")
    row("fanout --version", f"{median(version() for _ in range(5)):.3f} s")


def idle(endpoint: Endpoint) -> None:
    """Processor and memory of a console that waits, its SDK and servers loaded."""
    with fanout(endpoint.url, "openai/tokens-10") as console:
        console.type(PROMPT)
        console.seen("finis")
        time.sleep(2)
        before = console.cpu()
        time.sleep(10)
        row("idle for 10 s", f"{(console.cpu() - before) * 10:.2f} % CPU", f"{console.memory():.0f} MB")


def tokens(endpoint: Endpoint) -> None:
    """Streams of mixed Markdown: as fast as they are read, and at 300 a second with letters typed meanwhile."""
    for provider in ("openai", "anthropic"):
        for count in (5_000, 20_000):
            with fanout(endpoint.url, f"{provider}/tokens-{count}") as console:
                _warm(console, endpoint)
                console.type(PROMPT)
                last = console.seen("finis", since=len(console.pieces))
                row(f"{count:,} tokens in a burst, {provider}", f"{last - _at(endpoint, 'request'):.2f} s")
    with fanout(endpoint.url, "openai/tokens-2400-300") as console:
        _warm(console, endpoint)
        cpu, begun, echoes = console.cpu(), time.monotonic(), list[float]()
        console.type(PROMPT)
        since = len(console.pieces)
        for probe in PROBES[:40]:
            echoes.append(console.echo(probe))
            time.sleep(0.15)
        last = console.seen("finis", since=since)
        spent, elapsed = console.cpu() - cpu, time.monotonic() - begun
        row("2,400 tokens at 300/s: last byte to last token", f"{(last - _at(endpoint, 'last byte')) * 1000:.0f} ms")
        row("  processor meanwhile", f"{spent / elapsed * 100:.0f} % CPU", f"{console.memory():.0f} MB")
        row("  key echo, median and 95th percentile", *_echo(echoes))


def calls(endpoint: Endpoint) -> None:
    """K one-second MCP calls in one answer: from its last byte to the next request."""
    for count in (1, 8, 32, 128):
        model = f"openai/calls-{count}"
        with fanout(endpoint.url, model, "--mcp", "demo") as console:
            time.sleep(3)
            echoes = list[float]()
            console.type(PROMPT)
            if count == 32:
                time.sleep(0.3)
                echoes = [console.echo(probe) for probe in PROBES[:6]]
            console.seen("finis")
            noted = endpoint.events()
            ended = next(n["at"] for n in noted if n["event"] == "last byte")
            asked = [n["at"] for n in noted if n["event"] == "request"][1]
            row(f"{count} one-second calls: answer to next request", f"{asked - ended:.3f} s", *_echo(echoes))


def agents(endpoint: Endpoint) -> None:
    """32 agents of ten one-second calls each: how long, beside the longest of them; keys, processor, memory."""
    count = 32
    more = {f"FANOUT_{limit}": str(20 * count) for limit in ("MAX_AGENTS", "ASK_AGENTS", "AGENT_STEPS")}
    with fanout(endpoint.url, f"openai/agents-{count}-10", "--mcp", "demo", more=more) as console:
        time.sleep(3)
        endpoint.events()
        cpu, memory, most, echoes = console.cpu(), console.memory(), 0.0, list[float]()
        console.type(PROMPT)
        since, begun = len(console.pieces), time.monotonic()
        for probe in PROBES[:48]:
            echoes.append(console.echo(probe))
            most = max(most, console.memory())
            time.sleep(0.2)
        console.seen("finis", since=since)
        spent, elapsed = console.cpu() - cpu, time.monotonic() - begun
        noted = endpoint.events()
        spans = dict[str, tuple[float, float]]()
        for one in noted:
            at = one["at"]
            spans[one["prompt"]] = min(spans.get(one["prompt"], (at, at))[0], at), at
        of_agents = [(start, end) for prompt, (start, end) in spans.items() if "agent " in prompt]
        longest = max(end - start for start, end in of_agents)
        whole = max(end for _, end in of_agents) - min(start for start, _ in of_agents)
        if longest < 10:
            sys.exit(f"The longest agent took {longest:.1f} s for ten seconds of calls: they did not run.")
        row(
            f"{len(of_agents)} agents of ten one-second calls", f"{whole:.2f} s", f"{whole / longest:.2f} x the longest"
        )
        row("  processor meanwhile", f"{spent / elapsed * 100:.0f} % CPU", f"{(most - memory) / count:.1f} MB an agent")
        row("  key echo, median and 95th percentile", *_echo(echoes))


def first(endpoint: Endpoint) -> None:
    """The first batch of a session beside the tenth: three instant calls, from the answer's end to the next request."""
    firsts, tenths = list[float](), list[float]()
    for _ in range(5):
        with fanout(endpoint.url, "openai/batches-10") as console:
            time.sleep(3)
            endpoint.events()
            console.type(PROMPT)
            console.seen("finis")
            at = endpoint.events()
            ended = [n["at"] for n in at if n["event"] == "last byte"]
            asked = [n["at"] for n in at if n["event"] == "request"]
            took = [request - end for end, request in zip(ended, asked[1:], strict=False)]
            firsts.append(took[0])
            tenths.append(took[9])
    row("a batch of instant calls: the first", f"{median(firsts) * 1000:.0f} ms", f"most {max(firsts) * 1000:.0f} ms")
    row("  the tenth", f"{median(tenths) * 1000:.0f} ms", f"most {max(tenths) * 1000:.0f} ms")


def rounds(endpoint: Endpoint) -> None:
    """120 rounds of a paragraph and an instant call: the last must cost what the first did."""
    with fanout(endpoint.url, "openai/rounds-120", "--max-steps", "200") as console:
        time.sleep(3)
        console.type(PROMPT)
        console.seen("finis")
        at = [n["at"] for n in endpoint.events() if n["event"] == "request"]
        steps = [b - a for a, b in pairwise(at)]
        first, last = median(steps[:20]), median(steps[-20:])
        row("120 rounds: a round", f"{median(steps) * 1000:.0f} ms", f"last/first {last / first:.2f} x")


def headless(endpoint: Endpoint) -> None:
    """The whole process of `fanout run` with eight one-second calls."""
    for provider in ("openai", "anthropic"):
        home = Path(tempfile.mkdtemp(prefix="fanout-bench-"))
        argv = [
            sys.executable,
            "-m",
            "console_app",
            "run",
            "-m",
            f"{provider}/calls-8",
            "--approval-mode",
            "yolo",
            *SERVERS,
            "go",
        ]
        spent: list[float] = []
        for _ in range(3):
            begun = time.monotonic()
            env = fanout_env(home, endpoint.url)
            subprocess.run(argv, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
            spent.append(time.monotonic() - begun)
        row(f"headless, 8 one-second calls, {provider}", f"{median(spent):.2f} s")


def _warm(console: Console, endpoint: Endpoint) -> None:
    """Lets the SDK and the servers load, so that the first request pays for neither."""
    time.sleep(4)
    endpoint.events()


def _at(endpoint: Endpoint, event: str) -> float:
    return next(noted["at"] for noted in endpoint.events() if noted["event"] == event)


def _echo(echoes: list[float]) -> list[str]:
    if not echoes:
        return []
    return [f"{median(echoes) * 1000:.0f} ms", f"p95 {percentile(echoes, 0.95) * 1000:.0f} ms"]


ALL: dict[str, Callable[[Endpoint], None]] = {
    "start": start,
    "idle": idle,
    "tokens": tokens,
    "calls": calls,
    "agents": agents,
    "first": first,
    "rounds": rounds,
    "headless": headless,
}


def main() -> None:
    """Runs what was named, or everything."""
    words = parser(__doc__)
    words.add_argument("names", metavar="NAME", nargs="*", help=", ".join(ALL))
    names: list[str] = words.parse_args().names
    if unknown := [name for name in names if name not in ALL]:
        words.error(f"there is no benchmark {', '.join(unknown)}")
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    row(f"Python {sys.version.split()[0]}, {os.cpu_count()} cores")
    with Endpoint() as endpoint:
        for name in names or ALL:
            ALL[name](endpoint)


if __name__ == "__main__":
    main()
