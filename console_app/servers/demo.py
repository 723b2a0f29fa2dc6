"""A server to try the console with: tools that take their time, report, fail, or return a lot. No side effects.

Run it as `python -m console_app.servers.demo`.
"""

from __future__ import annotations

import asyncio
import math

from console_app.servers.parts.server import Arguments, CallContext, StdioServer, Tool, ToolFailedError, schema

LONGEST_SECONDS = 3600.0
MOST_BYTES = 200_000_000
MOST_STAGES = 1000
_HARMLESS = {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False}


async def long_task(arguments: Arguments, context: CallContext) -> str:
    duration = _seconds(arguments, "duration_seconds", 5.0)
    interval = max(_seconds(arguments, "interval_seconds", 0.5), 0.01)
    steps = max(1, math.ceil(duration / interval - 1e-9))
    loop = asyncio.get_running_loop()
    started = loop.time()
    context.progress(0, steps, "started")
    written = 0
    for step in range(1, steps + 1):
        # Against the clock, so that many short sleeps don't add up to a longer task.
        await asyncio.sleep(started + min(step * interval, duration) - loop.time())
        line = f"step {step} of {steps}"
        context.progress(step, steps, line, {"stream": "stdout", "text": f"{line}\n", "offset": written})
        written += len(line.encode()) + 1
    return f"done in {duration:g} s, {steps} step{'s' * (steps != 1)}."


async def _work(duration: float, context: CallContext) -> None:
    """Work for so many seconds, reporting four steps a second."""
    steps = max(1, math.ceil(duration * 4))
    for step in range(1, steps + 1):
        await asyncio.sleep(duration / steps)
        context.progress(step, steps, f"{step} of {steps}")


async def status_updates(arguments: Arguments, context: CallContext) -> str:
    stages: list[str] | int = arguments["stages"]
    if isinstance(stages, int):
        stages = [f"stage {number}" for number in range(1, min(stages, MOST_STAGES) + 1)]
    pause = _seconds(arguments, "interval_seconds", 0.4)
    for number, stage in enumerate(stages[:MOST_STAGES], 1):
        context.progress(number, None, str(stage))
        context.log("info", f"{stage}: running")
        await asyncio.sleep(pause)
    context.log("notice", "all stages are done")
    return f"{len(stages)} stages done: {', '.join(map(str, stages))}."


async def check(arguments: Arguments, context: CallContext) -> str:
    await _work(_seconds(arguments, "duration_seconds", 2.0), context)
    return "3 of 40 checks did not pass\nexit code: 2"


async def publish(arguments: Arguments, context: CallContext) -> str:
    await _work(1.0, context)
    return "published, as far as a demo does: nobody can see it."


async def fail(arguments: Arguments, context: CallContext) -> str:
    raise ToolFailedError(arguments.get("message") or "This tool always fails.")


async def big(arguments: Arguments, context: CallContext) -> str:
    """Text of exactly `bytes` bytes, in numbered lines."""
    size: int = arguments["bytes"]
    if not 0 <= size <= MOST_BYTES:
        raise ToolFailedError(f"big: `bytes` must be between 0 and {MOST_BYTES}.")
    width = 80
    lines = (f"line {number:>9} {'.' * (width - 16)}\n" for number in range(1, size // width + 2))
    return "".join(lines)[:size]


def _seconds(arguments: Arguments, name: str, default: float) -> float:
    seconds = float(arguments.get(name, default))
    if not 0 <= seconds <= LONGEST_SECONDS:
        raise ToolFailedError(f"`{name}` must be between 0 and {LONGEST_SECONDS:g} seconds.")
    return seconds


_DURATION = "How long it takes."
TOOLS = (
    Tool(
        long_task,
        "Pretends to work on a task for some seconds and reports progress (step n of m). Calls overlap.",
        {
            "task": schema("string", "What the task is called."),
            "duration_seconds": schema("number", _DURATION, default=5),
            "interval_seconds": schema("number", "Seconds between two reports.", default=0.5),
        },
        _HARMLESS,
    ),
    Tool(
        status_updates,
        "Goes through stages, with progress of unknown total and a log line for each.",
        {
            "stages": {
                "anyOf": [
                    schema("array", items=schema("string")),
                    schema("integer", minimum=1, maximum=MOST_STAGES),
                ],
                "description": "The names of the stages, or how many there are.",
            },
            "interval_seconds": schema("number", "Seconds a stage takes.", default=0.4),
        },
        _HARMLESS,
    ),
    Tool(
        check,
        "Pretends to run a command that finds something wrong: it ends with exit code 2.",
        {
            "command": schema("string", "What it is called. Nothing is run."),
            "duration_seconds": schema("number", _DURATION, default=2),
        },
        _HARMLESS,
    ),
    Tool(
        publish,
        "Pretends to publish something, to see a call that asks first. Nothing is published.",
        {"title": schema("string", "What it would be called.")},
        {"readOnlyHint": False, "destructiveHint": False, "openWorldHint": False},
    ),
    Tool(
        fail,
        "Always fails with the given message.",
        {"message": schema("string", "What the error says.")},
        _HARMLESS,
        optional=("message",),
    ),
    Tool(
        big,
        "Returns text of the given size, to see how a large result is shown.",
        {"bytes": schema("integer", "How many bytes.", minimum=0, maximum=MOST_BYTES)},
        _HARMLESS,
    ),
)


if __name__ == "__main__":
    StdioServer("fanout-demo", TOOLS).run()
