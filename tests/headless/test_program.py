"""`fanout program`: a script whose functions are tools, run without a model through the same engine."""

from __future__ import annotations

import json
import textwrap

import pytest

from console_app.domain.safe_text import is_safe
from tests.headless.inside import Inside
from tests.hostile import PAYLOADS
from tests.program.process import types

TEN_LINES = """
import asyncio

async def square(k):
    return int(await calculator_evaluate(expression=f"{k}^2"))

squares = await asyncio.gather(*[square(k) for k in range(8)])
print(len(squares), "squares")
sum(squares)
"""


def program(fanout: Inside, code: str) -> str:
    return str(fanout.write("program.py", textwrap.dedent(code)))


def test_a_program_prints_its_result_alone_and_a_line_for_each_call(fanout: Inside) -> None:
    done = fanout.run("program", program(fanout, TEN_LINES))
    assert (done.code, done.out) == (0, "8 squares\n140\n")
    assert done.err.count("calculator.evaluate") == 8


def test_a_tool_by_its_name_alone_is_told_with_how_it_is_called(fanout: Inside) -> None:
    done = fanout.run("program", program(fanout, "await evaluate(expression='6*7')"))
    assert done.code == 1
    assert "Tools are functions called SERVER_TOOL, as calculator_evaluate." in done.out


def test_its_calls_are_events_with_the_program_as_their_parent(fanout: Inside) -> None:
    path = program(fanout, TEN_LINES)
    events = fanout.run("program", path, "--output-format", "stream-json").events
    announced = [event for event in events if event["type"] == "call.announced"]
    assert [event["parent"] for event in announced] == ["", *[announced[0]["call_id"]] * 8]
    assert types(events).count("call.finished") == 9
    report = json.loads(fanout.run("program", path, "--output-format", "json").out)
    assert [call["parent"] for call in report["calls"]][1:] == [report["calls"][0]["call_id"]] * 8
    assert report["calls"][0]["content"] == "8 squares\n140"


def test_it_may_come_on_standard_input(fanout: Inside) -> None:
    done = fanout.run("program", "-", stdin=b"print(await calculator_evaluate(expression='6*7'))")
    assert (done.code, done.out) == (0, "42\n")


def test_an_error_that_it_catches_is_no_failure_and_one_that_it_does_not_is(fanout: Inside) -> None:
    caught = "try:\n    await demo_fail(message='no')\nexcept RuntimeError as error:\n    print('caught', error)"
    done = fanout.run("program", program(fanout, caught))
    assert (done.code, done.out) == (0, "caught no\n")
    done = fanout.run("program", program(fanout, "await demo_fail(message='no')"))
    assert done.code == 1
    assert "RuntimeError: no" in done.out


ATTACKS = [*PAYLOADS[::9], *PAYLOADS[-3:]]
WAYS = f"""
payloads = {ATTACKS!r}
for hostile in payloads:
    print(hostile)
    try:
        await demo_fail(message=hostile)
    except RuntimeError as error:
        print(error)
found = await demo_status_updates(stages=payloads, interval_seconds=0)
raise ValueError(' '.join(payloads) + str(found))
"""


@pytest.mark.parametrize("words", [[], ["--output-format", "stream-json"]], ids=["text", "events"])
def test_nothing_that_a_call_gave_it_reaches_the_terminal_raw(fanout: Inside, words: list[str]) -> None:
    done = fanout.run("program", program(fanout, WAYS), *words)
    assert done.code == 1
    assert "ValueError" in done.out
    assert is_safe((done.out + done.err).replace("\n", "")), "it would do something there"


def test_its_calls_ask_as_those_of_a_model(fanout: Inside) -> None:
    path = program(fanout, "await demo_publish(title='news')")
    done = fanout.run("program", path)
    assert done.code == 3
    assert "--allow-tool demo.publish" in done.err
    assert fanout.run("program", path, "--allow-tool", "demo.publish").code == 0


@pytest.mark.parametrize("offered", ["auto", "off", "only"])
def test_what_models_are_offered_says_nothing_of_your_own_programs(fanout: Inside, offered: str) -> None:
    fanout.write("home/config.toml", f'programs = "{offered}"\n')
    assert fanout.run("program", program(fanout, "1 + 1")).out == "2\n"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["nowhere.py"], "nowhere.py can't be read: No such file or directory."),
        (["."], ". can't be read: Is a directory."),
        (["latin.py"], "latin.py is no text in UTF-8."),
        (["empty.py"], "empty.py is empty."),
        (["large.py"], "large.py is larger than 1 MB."),
        ([], "program needs FILE"),
        (["one.py", "two.py"], "unexpected argument 'two.py'"),
    ],
)
def test_what_is_no_program_is_one_line(fanout: Inside, words: list[str], says: str) -> None:
    fanout.write("latin.py", "").write_bytes(b"print('\xff')")
    fanout.write("empty.py", " \n")
    fanout.write("large.py", "#" * (2**20 + 1))
    done = fanout.run("program", *words)
    assert done.code == 2
    assert says in done.err
    assert len(done.err.splitlines()) == 1
