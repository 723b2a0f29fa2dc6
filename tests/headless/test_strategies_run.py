"""`fanout run --strategy`: real wire bytes of every API, thoughts apart from the answer, and limits of money."""

from __future__ import annotations

import json

import pytest

from tests.headless.inside import Inside
from tests.headless.test_run import SUMS, calculation, model
from tests.wire_bytes import APIS, Answer, Api, Call, Text
from tests.wire_server import WireServer


def finished(answer: str) -> Call:
    return Call("fanout_finished", json.dumps({"final_answer": answer}))


@pytest.mark.parametrize("api", APIS)
def test_thoughts_go_to_standard_error_and_the_answer_of_finished_to_standard_output(
    fanout: Inside, server: WireServer, api: Api
) -> None:
    server.script(
        Answer(Text("Two sums are missing.")),
        calculation("1+1", "2+2", text=""),
        Answer(Text("Both are there.")),
        Answer(finished("They are 2 and 4.")),
    )
    done = fanout.run("run", *model(server, api), *SUMS, "--strategy", "think-act", "go")
    assert (done.code, done.out) == (0, "They are 2 and 4.\n")
    assert "think: Two sums are missing." in done.err
    assert "✓ fanout.finished" in done.err
    assert len(server.requests) == 4


@pytest.mark.parametrize("api", APIS)
def test_a_failed_call_blocks_finished_of_the_same_answer(fanout: Inside, server: WireServer, api: Api) -> None:
    failing = Call("calculator_evaluate", '{"expression": "1/0"}')
    server.script(Answer(failing, finished("Fine.")), Answer(Text("I could not.")))
    done = fanout.run("run", *model(server, api), *SUMS, "--strategy", "act", "--output-format", "json", "go")
    report = json.loads(done.out)
    assert [call["outcome"] for call in report["calls"]] == ["failed", "blocked"]
    assert report["answer"] == "I could not."
    assert "Cannot complete because a previous tool call failed in this turn." in server.requests[1].raw.decode()


def test_the_answer_in_json_is_the_one_given_to_finished(fanout: Inside, server: WireServer) -> None:
    server.script(Answer(Text("Hm.")), Answer(finished("It is done.")))
    done = fanout.run("run", *model(server), *SUMS, "--strategy", "react", "--output-format", "json", "go")
    assert json.loads(done.out)["answer"] == "It is done."


def test_a_price_that_makes_no_sense_is_a_mistake_of_usage(fanout: Inside) -> None:
    done = fanout.run("run", "--max-price", "-1", "go")
    assert done.code == 2
    assert "takes a number of dollars, not" in done.err


def test_where_the_price_is_unknown_the_limit_says_so(fanout: Inside, server: WireServer) -> None:
    server.script(Answer(Text("Hello.")))
    done = fanout.run("run", *model(server), *SUMS, "--max-price", "1", "go")
    assert "The price of this model isn't known, so max_price can't be kept." in done.err


def test_calls_typed_by_hand_have_no_strategy(fanout: Inside) -> None:
    done = fanout.run("call", "calculator.evaluate", '{"expression": "1+1"}', env={"FANOUT_STRATEGY": "think-act"})
    assert (done.code, done.out) == (0, "2\n")
