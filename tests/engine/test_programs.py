"""Programs that the model writes: each call inside asks, runs, fails, stops and is run again as any other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from console_app.domain import ApprovalMode, Decision, Message, ToolMessage, ToolSpec
from console_app.domain import events as ev
from console_app.domain.schema import object_of
from console_app.domain.transcript import Transcript
from console_app.engine import ApprovalGate, Engine, Turn
from console_app.programs import Runner
from tests.each import each
from tests.engine.peers import DONE, Model, Reaction, Tools, calls, ending, play, spec, tool_texts
from tests.engine.strict_history import check_events, check_history
from tests.examples import EXPLORING, spread

PROGRAM = "fanout_program"
GATHER = "import asyncio\nawait asyncio.gather(*[demo_do(n=str(k)) for k in range({})])"
SCHEMA = object_of({name: {"type": "string"} for name in ("n", "do")} | {"seconds": {"type": "number"}})


def tools(**more: Any) -> Tools:
    return Tools([spec("do", input_schema=SCHEMA, **more), spec("write-it", read_only=False, input_schema=SCHEMA)])


def engine_for(
    code: str,
    there: Tools | None = None,
    mode: ApprovalMode = ApprovalMode.YOLO,
    seconds: float = 3,
    **settings: Any,
) -> Engine:
    engine = Engine(
        provider=Model(calls({"code": code}, name=PROGRAM)),
        toolset=there or tools(),
        gate=ApprovalGate(mode),
        programs=Runner(seconds=seconds),
    )
    engine.settings = replace(engine.settings, programs="auto", **settings)
    return engine


async def result_of(code: str, react: Reaction | None = None, **more: Any) -> str:
    engine = engine_for(code, **more)
    events = await play(engine, react=react)
    check_history(engine)
    check_events(events)
    assert ending(events).outcome == "completed"
    assert [message.tool_call_id for message in engine.transcript.history if isinstance(message, ToolMessage)] == [
        "call_1_1_0"
    ]
    return tool_texts(engine)[0]


async def test_calls_of_a_program_run_in_parallel_and_its_value_is_the_result() -> None:
    there = tools()
    code = """
import asyncio
found = await asyncio.gather(*[demo_do(n=str(k), seconds=0.3) for k in range(8)])
print(len(found), "calls")
[found[0], found[7]]
"""
    assert await result_of(code, there=there) == '8 calls\n["result of 0", "result of 7"]'
    assert there.most_running == 8


# What the interpreter alone says; what is said here to each of these has a case below.
BY_INTERPRETER = [
    ("1 +", "SyntaxError"),
    ("for x in", "SyntaxError: Expected an expression"),
    ("def f(): return f()\nf()", "RecursionError"),
    ("open('/etc/passwd').read()", "PermissionError"),
    ("x = [1]\nwhile True:\n    x = x + x", "MemoryError"),
    ("for k in range(300):\n    await demo_do(n=str(k))", "RuntimeError: a program makes at most 256 calls"),
    ("await demo_do(n={(1, 2): 3})", "TypeError: demo_do() takes what JSON can hold"),
]


@each(
    ("code", "says"),
    [
        *(BY_INTERPRETER if EXPLORING else BY_INTERPRETER[:1]),
        ("1 + 1", "2"),  # it calls nothing
        ("# nothing", "(the tool returned no output)"),
        ("demo_do()\n2", "1 call without await did not run]\n2"),
        ("x = (1\ny = 2", "  The program, line 2\n    y = 2\n"),
        ("1 / 0", "  The program, line 1, in <module>\n"),
        ("await nothing_like_it()", "name 'nothing_like_it' is not defined\nTools are the functions demo_do"),
        ("asyncio.gather()", "Did you forget to import 'asyncio'?"),
        ("await fanout_program(code='1')", "A program starts no other: define a function."),
        ("open('/etc/passwd').read()", "Call a tool for what is outside"),
        ("import os\nos.environ", "Call a tool for what is outside"),
        ("import socket", "There are no other modules than json, re, math"),
        (
            "try:\n    __import__('os')\n    print('root:')\nexcept NameError:\n    pass\n().__class__.__bases__",
            "Attribute",
        ),
        ("'a' * 10**9", "Keep less: sum up each result as it comes."),
        ("print('x' * 10**6)", "[Fanout: 980,001 characters more were printed]"),
        (GATHER.format(10_000), "a program makes at most 256 calls\nMake fewer calls, or several programs."),
        ("print('before')\n1 / 0", "It had printed:\nbefore"),
        ("{(1, 2): 3}", "{(1, 2): 3}"),
        ("2**100_000", "the value of the last expression can't be written"),
        ("x = []\nfor k in range(5000):\n    x = [x]\nx", "the value of the last expression can't be written"),
        ("def f():\n    yield 1", "Build a list and return it in place of yield."),
        ("d = {1: 2}\ndel d[1]", "Use pop(), or make a new dict or list"),
        ("import asyncio\nasync with asyncio.Semaphore(2): pass", "Leave it out: asyncio.gather runs calls"),
        ("import asyncio\nasyncio.create_task(demo_do())", "Of asyncio there are gather and run"),
        ("import asyncio\nawait asyncio.sleep(1)", "A program can't wait for a time"),
        ("import sys\nsys.exit(1)", "Let the program come to its end"),
    ],
)
async def test_what_goes_wrong_is_said_and_nothing_of_the_host_is_reached(code: str, says: str) -> None:
    text = await result_of(code)
    assert says in text
    assert "root:" not in text
    assert "interpreter ended" not in text


async def test_a_program_without_end_is_ended_and_told_what_to_leave_to_tools() -> None:
    assert "Leave long computations to tools" in await result_of("while True: pass", seconds=0.3)


async def test_an_argument_that_a_closed_schema_has_not_is_an_error_as_in_python() -> None:
    there = Tools([spec("do", input_schema=SCHEMA | {"additionalProperties": False}), spec("any", input_schema=SCHEMA)])
    assert "TypeError: demo_do() got an unexpected keyword argument 'm'" in await result_of(
        "await demo_do(n='1', m='2')", there=there
    )
    assert "result of 1" in await result_of("await demo_any(n='1', m='2')", there=there)


async def test_a_call_without_code_is_refused() -> None:
    engine = engine_for("")
    await play(engine)
    assert "code" in tool_texts(engine)[0]


HOSTILE: dict[str, Any] = {
    "bare": {},
    "nonsense": {"type": "object", "properties": {"n": 5, "deep": {"type": {"x": 1}}}, "required": "n"},
    "names": object_of({key: {"type": "string"} for key in ("class", "a b", "", "self", "*")}),
    "print": object_of({"n": {}}),
    "json": {},
    "None": {},
    "a-b": {},
    "a.b": {},
    "1x": {},
    "é\n*/": {},
}


CALLED = [
    ("await bare()", "result of"),
    ("await nonsense(n='1')", "result of 1"),
    ("await names(**{'class': '1', 'a b': '2', '': '3', 'self': '4', '*': '5'})", "result of"),
    ("await _print(n='1')", "result of 1"),
    ("'hello'", "hello"),
    ("await _json()", "result of"),
    ("json.dumps([1])", "[1]"),
    ("await _None()", "result of"),
    ("[await a_b(), await a_b_()]", "result of"),
    ("await _1x()", "result of"),
]


async def test_tools_with_hostile_schemas_and_names_that_python_has_can_be_called() -> None:
    code = "\n".join(["import json", *(f"print({code})" for code, _ in CALLED)])
    there = Tools([replace_name(spec(tool, input_schema=schema), tool) for tool, schema in HOSTILE.items()])
    engine = engine_for(code, there)
    engine.settings = replace(engine.settings, programs="only")
    await play(engine)
    for (called, says), line in zip(CALLED, tool_texts(engine)[0].splitlines(), strict=True):
        assert says in line, called
    assert "names(class" not in "".join(one.description for one in engine.provider.requests[0].tools)  # type: ignore[attr-defined]


def replace_name(tool: ToolSpec, name: str) -> ToolSpec:
    """The tool under a name that no server gives it: its own alone."""
    return tool.model_copy(update={"name": name})


SCRIPTS: dict[str, tuple[str, str]] = {
    "a loop": ("out = []\nfor k in range(3):\n    out.append(await demo_do(n=str(k)))\nout[-1]", "result of 2"),
    "a comprehension": ("{k: await demo_do(n=k) for k in 'ab'}", '{"a": "result of a", "b": "result of b"}'),
    "gather": ("import asyncio\nlen(await asyncio.gather(*[demo_do(n=str(k)) for k in range(9)]))", "9"),
    "gather of functions": (
        "import asyncio\nasync def one(k):\n    r = await demo_do(n=str(k))\n    return r.upper()\n"
        "asyncio.run(asyncio.gather(one(1))) if False else (await asyncio.gather(one(1), one(2)))[1]",
        "RESULT OF 2",
    ),
    "main": (
        "import asyncio\nasync def main():\n    print(await demo_do(n='1'))\n"
        "if __name__ == '__main__':\n    asyncio.run(main())",
        "result of 1",
    ),
    "try": (
        "ok, bad = [], []\nfor do in ('succeed', 'fail'):\n    try:\n        ok.append(await demo_do(n='1', do=do))\n"
        "    except Exception as e:\n        bad.append(f'{type(e).__name__}: {e}')\n    finally:\n        print(do)\n"
        "print(len(ok), bad)",
        "1 ['RuntimeError: no such order']",
    ),
    "try again": (
        "for attempt in range(3):\n    try:\n        r = await demo_do(n='1', do='fail' if attempt < 2 else '')\n"
        "        break\n    except RuntimeError:\n        continue\nelse:\n    r = 'never'\nr",
        "result of 1",
    ),
    "format": ("r = await demo_do(n='1')\nf'{r!r:>20} {3.14159:.2f} {1234567:,} {0.5:.0%}'", "3.14 1,234,567 50%"),
    "json": (
        'import json\nrows = json.loads(\'[{"a": 1}, {"a": 3}]\')\n'
        "print(json.dumps({'sum': sum(r['a'] for r in rows)}, indent=2))",
        '"sum": 4',
    ),
    "sorting": (
        "rows = [{'n': 'b', 's': 2}, {'n': 'a', 's': 2}, {'n': 'c', 's': 9}]\n"
        "rows.sort(key=lambda r: (-r['s'], r['n']))\n[r['n'] for r in rows]",
        '["c", "a", "b"]',
    ),
    "counting": (
        "from collections import Counter, defaultdict\nby = defaultdict(list)\nfor w in 'ab ba aa'.split():\n"
        "    by[w[0]].append(w)\nprint(dict(by), Counter('aab').most_common(1))",
        "{'a': ['ab', 'aa'], 'b': ['ba']} [('a', 2)]",
    ),
    "nested functions": (
        "def outer():\n    total = 0\n    def add(n):\n        nonlocal total\n        total += n\n"
        "        return total\n    return add\nadd = outer()\nadd(1)\nadd(2)",
        "3",
    ),
    "recursion": ("def fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)\nfib(15)", "610"),
    "patterns": ("import re\n[m.group(1) for m in re.finditer(r'(\\d+)kg', '5kg 12kg')]", '["5", "12"]'),
    "dates": (
        "from datetime import datetime, timedelta\n(datetime(2024, 2, 28) + timedelta(days=2)).strftime('%Y-%m-%d')",
        "2024-03-01",
    ),
    "a class": (
        "class Box:\n    def __init__(self, n):\n        self.n = n\n    def twice(self):\n        return self.n * 2\n"
        "Box(4).twice()",
        "8",
    ),
    "match": (
        "def kind(x):\n    match x:\n        case {'t': t}: return t\n        case [a, *_]: return a\n"
        "        case _: return 'other'\n[kind({'t': 1}), kind([2, 3]), kind(0)]",
        '[1, 2, "other"]',
    ),
    "unpacking": (
        "first, *rest = [1, 2, 3]\nm = {**{'a': 1}, 'b': rest}\nprint(first, m | {'c': 0})",
        "{'a': 1, 'b': [2, 3], 'c': 0}",
    ),
    "batches": (
        "import asyncio\nids, out = list(range(25)), []\nwhile ids:\n    part, ids = ids[:10], ids[10:]\n"
        "    out += await asyncio.gather(*[demo_do(n=str(i)) for i in part])\nprint(len(out), out[-1])",
        "25 result of 24",
    ),
    "types": (
        "from typing import Any\nasync def get(n: int, retries: int = 2) -> dict[str, Any]:\n"
        "    return {'n': n, 'text': await demo_do(n=str(n))}\n(await get(7))['text']",
        "result of 7",
    ),
    "walrus and early end": (
        "found = None\nfor k in range(9):\n    if (r := await demo_do(n=str(k))).endswith('4'):\n        found = r\n"
        "        break\nfound",
        "result of 4",
    ),
}


@each("script", spread(SCRIPTS, 6))
async def test_scripts_as_models_write_them_come_to_what_they_should(script: str) -> None:
    code, comes_to = SCRIPTS[script]
    assert comes_to in await result_of(code)


FAILING = [
    ("demo_do(do='fail')", "RuntimeError: no such order"),
    ("demo_do(do='error')", "RuntimeError: Tool execution failed: Tool: the server is gone"),
    ("demo_do(1, 2, 3, 4)", "TypeError: demo_do() takes 3 arguments, and 4 were given"),
    ("demo_do('1', n='2')", "TypeError: demo_do() got two values for n"),
    ("demo_do(n=2**100_000)", "TypeError: demo_do() takes what JSON can hold"),
]


async def test_an_error_of_a_call_can_be_caught_and_ends_the_program_else() -> None:
    caught = "try:\n    await {}\nexcept Exception as error:\n    print(f'{{type(error).__name__}}: {{error}}')"
    lines = (await result_of("\n".join(caught.format(call) for call, _ in FAILING))).splitlines()
    for (call, says), line in zip(FAILING, lines, strict=True):
        assert line.startswith(says), call
    assert "RuntimeError: no such order" in await result_of("await demo_do(do='fail')")


def deciding(decide: Callable[[Turn, ev.Event], None]) -> Reaction:
    return lambda turn, event: decide(turn, event)


async def test_each_call_asks_and_one_that_is_denied_holds_up_its_own_await_alone() -> None:
    code = """
import asyncio
async def one(k):
    try:
        return await demo_write_it(n=str(k))
    except RuntimeError as error:
        return str(error)
await asyncio.gather(*[one(k) for k in range(3)])
"""
    asked: list[str] = []

    def decide(turn: Turn, event: ev.Event) -> None:
        if isinstance(event, ev.ApprovalRequested):
            asked.append(event.call_id)
            verdict = Decision.DENY if len(asked) == 2 else Decision.ALLOW
            turn.resolve(event.call_id, verdict, feedback="not that one" if verdict is Decision.DENY else None)

    there = tools()
    text = await result_of(code, decide, there=there, mode=ApprovalMode.AUTO)
    assert len(asked) == 3
    assert text.count("result of") == 2
    assert "not that one" in text
    assert len(there.ran) == 2


async def test_a_call_of_a_program_is_stopped_and_run_again_while_the_program_waits() -> None:
    there = tools()
    stopped: list[str] = []

    def react(turn: Turn, event: ev.Event) -> None:
        if isinstance(event, ev.CallStarted) and event.call_id != "call_1_1_0":
            if not stopped:
                stopped.append(event.call_id)
                asyncio.get_running_loop().call_soon(turn.retry, event.call_id)
            else:
                there.event("1").set()

    text = await result_of("await demo_do(n='1', do='wait')", react, there=there)
    assert text == "result of 1"
    assert len(there.ran) == 2


@each("after", [None, 0.05])
async def test_a_call_of_a_program_is_not_put_in_the_background_as_its_program_waits_for_it(
    after: float | None,
) -> None:
    there = tools()

    def react(turn: Turn, event: ev.Event) -> None:
        if isinstance(event, ev.CallStarted) and event.call_id != "call_1_1_0":
            assert not turn.detach_call(event.call_id)
            asyncio.get_running_loop().call_later(0.2, there.event("1").set)

    text = await result_of("await demo_do(n='1', do='wait')", react, there=there, background_after=after)
    assert text == "result of 1"


async def test_events_name_the_program_and_a_replay_has_its_calls_behind_it() -> None:
    there = tools()
    there.event("1").set()
    engine = engine_for("await demo_do(n='1', do='write')\nawait demo_do(n='2')", there)
    events = await play(engine)
    assert {event.call_id for event in events if isinstance(event, ev.CallOutput)} == {"call_1_1_0_0"}
    announced = [event for event in events if isinstance(event, ev.CallAnnounced)]
    assert [(one.parent, one.index) for one in announced] == [("", 0), ("call_1_1_0", 0), ("call_1_1_0", 0)]
    transcript = Transcript()
    for event in events:
        transcript.apply(event)
    step = transcript.turns[0].steps[0]
    assert [call.parent for call in step.batch.calls] == ["", "call_1_1_0", "call_1_1_0"]
    assert [call.outcome for call in step.batch.calls] == ["succeeded"] * 3


async def test_stopping_the_turn_ends_the_program_and_all_its_calls() -> None:
    there = tools()

    def react(turn: Turn, event: ev.Event) -> None:
        if isinstance(event, ev.CallStarted) and event.call_id != "call_1_1_0":
            turn.cancel()

    engine = engine_for("await demo_do(do='hang')", there)
    events = await play(engine, react=react)
    assert ending(events).outcome == "cancelled"
    finished = {event.call_id: event.outcome for event in events if isinstance(event, ev.CallFinished)}
    assert len(finished) == 2
    assert set(finished.values()) == {"cancelled"}
    messages: list[Message] = [one for one in engine.transcript.history if isinstance(one, ToolMessage)]
    assert len(messages) == 1


@each(
    ("plan", "offered"),
    [("auto", {PROGRAM, "demo_do", "demo_write-it"}), ("off", {"demo_do", "demo_write-it"}), ("only", {PROGRAM})],
)
async def test_what_is_offered_by_the_setting(plan: str, offered: set[str]) -> None:
    model = Model(DONE)
    engine = Engine(provider=model, toolset=tools(), programs=Runner())
    engine.settings = replace(engine.settings, programs=plan)
    await play(engine)
    assert {one.name for one in model.requests[0].tools} == offered
    if plan == "only":
        assert (
            "demo_write_it(n: str = ..., do: str = ..., seconds: float = ...)" in model.requests[0].tools[0].description
        )
