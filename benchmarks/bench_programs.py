"""Measures calls inside of programs: `python -m benchmarks.bench_programs`.

The real engine runs a program whose state is kept, as in a session that is stored. Its tools wait for as long as they
are told, so what is measured is Fanout's own part. The program's text takes a second to come, as from a model. Wanted:
32 calls of half a second end within 0.6 s, the first call goes out within 30 ms of the program's last letter, and 256
calls cost no more each inside than the same calls in an answer: in processor time of all processes, as walls are those
of the machine's other work, too. What a program of one call takes is told apart, and so is each further call; "with the
start" divides the whole. 10,000 calls of one gather are refused.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

import psutil

from benchmarks.console import parser, row
from console_app.domain import ApprovalMode
from console_app.domain import events as ev
from console_app.domain.chunks import CallClosed, CallDelta, CallOpened, FinishChunk
from console_app.domain.schema import object_of
from console_app.engine import ApprovalGate, Engine
from console_app.programs import Runner
from tests.engine.peers import Line, Model, Tools, calls, play, spec

WRITING = 1.0  # seconds that the program takes to come
GATHER = "import asyncio\nlen(await asyncio.gather(*[demo_do(n=str(k), seconds={}) for k in range({})]))"
LOOP = "for k in range({}):\n    await demo_do(n=str(k))"
SCHEMA = object_of({"n": {"type": "string"}, "seconds": {"type": "number"}})
MANY, TIMES = 256, 5


def written(code: str) -> list[Line]:
    """The answer that holds a program: its name at once, its text a second later."""
    there, text = asyncio.Event(), json.dumps({"code": code})
    asyncio.get_running_loop().call_later(WRITING, there.set)
    return [CallOpened(0, "", "fanout_program"), there, CallDelta(0, text), CallClosed(0, text), FinishChunk("stop")]


async def played(answers: Sequence[Sequence[Line]], folder: Path) -> list[ev.Event]:
    engine = Engine(
        provider=Model(*answers),
        toolset=Tools([spec(input_schema=SCHEMA)]),
        gate=ApprovalGate(ApprovalMode.YOLO),
        programs=Runner(folder),
        clock=time.time,
    )
    engine.settings = replace(
        engine.settings, programs="auto", max_calls=MANY, max_parallel=MANY, max_steps=2 * MANY, dedupe=False
    )
    return await play(engine)


def ms(seconds: float) -> str:
    return f"{seconds * 1000:,.{2 if seconds < 0.001 else 1}f} ms"


def at(events: Sequence[ev.Event], kind: type[ev.Event], *, inside: bool = False) -> list[float]:
    return [
        one.at for one in events if isinstance(one, kind) and (getattr(one, "call_id", "") != "call_1_1_0") is inside
    ]


async def in_program(code: str, folder: Path) -> tuple[float, float, list[ev.Event]]:
    """Return the seconds from a program's last letter to its first call, and to its end."""
    events = await played([written(code)], folder)
    ready, ended = at(events, ev.CallReady)[0], at(events, ev.CallFinished)[0]
    first = min(at(events, ev.CallStarted, inside=True), default=ended)
    return first - ready, ended - ready, events


async def outside(folder: Path, many: int, *, one_by_one: bool) -> float:
    """Return the seconds that the same calls take in an answer of their own, or each in one."""
    every = [{"n": str(k), "seconds": 0} for k in range(many)]
    answers = [calls(one) for one in every] if one_by_one else [calls(*every)]
    events = await played(answers, folder)
    ready, ended = ([one.at for one in events if isinstance(one, kind)] for kind in (ev.CallReady, ev.CallFinished))
    return ended[-1] - ready[0]


def spent() -> float:
    """Return the seconds of processor time of this process and of those that it has ended."""
    ours, theirs = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return ours.ru_utime + ours.ru_stime + theirs.ru_utime + theirs.ru_stime


async def measured(folder: Path) -> list[str]:
    """Print the figures; return what was wanted and is not so."""
    missed: list[str] = []

    def told(what: str, seconds: list[float], most: float) -> None:
        row(what, ms(median(seconds)), f"most {ms(max(seconds))}", f"wanted {ms(most)}")
        if median(seconds) > most:
            missed.append(f"{what.strip()}: {ms(median(seconds))}")

    halves = [await in_program(GATHER.format(0.5, 32), folder) for _ in range(TIMES)]
    told("32 calls of half a second in one program", [one[1] for one in halves], 0.6)
    told("  the first call is out after", [one[0] for one in halves], 0.03)
    for how, code in (("at once", GATHER), ("one by one", LOOP)):
        plain, inside, first, whole, plain_spent, inside_spent = (list[float]() for _ in range(6))
        for _ in range(TIMES):  # in turns, so that all meet the same machine
            marks, ends = [spent()], list[float]()
            for many in (1, MANY):
                ends.append(await outside(folder, many, one_by_one=code is LOOP))
                marks.append(spent())
            plain.append((ends[1] - ends[0]) / (MANY - 1))
            plain_spent.append((marks[2] - 2 * marks[1] + marks[0]) / (MANY - 1))
            marks, ends = [spent()], list[float]()
            for many in (1, MANY):
                text = code.replace("{}", "0", code.count("{}") - 1).format(many)
                ends.append((await in_program(text, folder))[1])
                marks.append(spent())
            inside.append((ends[1] - ends[0]) / (MANY - 1))
            inside_spent.append((marks[2] - 2 * marks[1] + marks[0]) / (MANY - 1))
            first.append(ends[0])
            whole.append(ends[1] / MANY)
        row(f"{MANY} calls of a model {how}, each", ms(median(plain)), f"most {ms(max(plain))}")
        row("  in a program, each", ms(median(inside)), f"most {ms(max(inside))}")
        told("  in a program, processor time of each", inside_spent, median(plain_spent))
        row("  a program of one call", ms(median(first)), f"most {ms(max(first))}")
        row("  with the start, each", ms(median(whole)), f"most {ms(max(whole))}")
    before = psutil.Process().memory_info().rss
    _, took, events = await in_program(GATHER.format(0, 10_000), folder)
    grown = (psutil.Process().memory_info().rss - before) / 2**20
    said = next(one.content for one in events if isinstance(one, ev.CallFinished) and one.call_id == "call_1_1_0")
    row("10,000 calls in one gather end after", f"{took:.2f} s", f"{grown:.0f} MB more", said.splitlines()[-2][:60])
    return missed


def main() -> None:
    """Ends with 1 where a figure is above what is wanted."""
    parser(__doc__).parse_args()
    with tempfile.TemporaryDirectory(prefix="fanout-bench-") as folder:
        if missed := asyncio.run(measured(Path(folder))):
            sys.exit("; ".join(missed))


if __name__ == "__main__":
    main()
