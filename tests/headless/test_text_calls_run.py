"""`fanout run` of models that write their calls: what is printed, what runs, and what the model hears of the rest."""

from __future__ import annotations

import json

import pytest

from tests.each import each
from tests.examples import turns
from tests.headless.inside import Inside
from tests.wire_bytes import Answer, Call, Text
from tests.wire_server import WireServer

BARE = '{"name": "calculator_evaluate", "arguments": {"expression": "6*7"}}'
FENCED = f"```json\n{BARE}\n```"
MARKED = f"<tool_call>\n{BARE}\n</tool_call>"
YES = ["--approval-mode", "yolo", "--allow-tool", "*"]
ANSWERS = {
    "a fence, then a sentence": (f"{FENCED}\nThis is what I would send.", "This is what I would send."),
    "a sentence, a fence, a sentence": (f"It says:\n\n{FENCED}\n\nThat is all.", "It says:\n\nThat is all."),
    "a call in a block quote": (f"I won't emit\n> {BARE}\nhere.", f"I won't emit\n> {BARE}\nhere."),
    "a call in a sentence": (f"I won't emit {MARKED} here.", "I won't emit  here."),
    "a call, then a sentence": (f"{MARKED}\nThen I wait.", "Then I wait."),
    "a sentence, a call, a sentence": (f"I look.\n\n{MARKED}\n\n実行しません。", "I look.\n\n実行しません。"),
    "a call in the tags of a wrapper": (f"I look.\n<answer>\n{MARKED}\n</answer>", "I look.\n<answer>\n\n</answer>"),
}


def model(server: WireServer) -> list[str]:
    return ["-m", "openai/test-model", "--base-url", server.base_url("openai-chat"), "--mcp", "calculator"]


@each(("answer", "size", "as_events"), turns(ANSWERS, [1, 5, 1000], [False, True]))
def test_every_piece_of_an_answer_is_printed_once_and_in_its_order(
    answer: str, size: int, as_events: bool, fanout: Inside, server: WireServer
) -> None:
    text, shown = ANSWERS[answer]
    answers = [Answer(Text(text, size=size))]
    if shown != text:  # the call asks or runs, and the turn goes on
        answers.append(Answer(Text("So.")))
    server.script(*answers)
    if not as_events:
        done = fanout.run("run", *model(server), *YES, "go")
        assert done.out == "\n\n".join([shown, "So."][: len(answers)]) + "\n", done.err
        return
    lines = fanout.run("run", *model(server), *YES, "--output-format", "stream-json", "go").out.splitlines()
    events = [json.loads(line) for line in lines]
    first = next(
        event["content"] for event in events if event["type"] == "message.added" and event["role"] == "assistant"
    )
    deltas = "".join(event["text"] for event in events if event["type"] == "text.delta" and event["step"] == 1)
    assert (deltas, [event for event in events if event["type"] == "text.revised"]) == (first, [])


@pytest.mark.parametrize("protocol", ["auto", "text"])
@pytest.mark.parametrize("behind", ["実行しません。", "Das führe ich nicht aus.", "I wait for it."])
def test_a_call_with_text_behind_it_is_not_run_and_the_model_hears_why_in_the_same_turn(
    protocol: str, behind: str, fanout: Inside, server: WireServer
) -> None:
    server.script(Answer(Text(f"Sure.\n\n{MARKED}\n\n{behind}")), Answer(Text("I was not allowed.")))
    done = fanout.run("run", *model(server), *YES, "--protocol", protocol, "go")
    assert (done.code, done.out.strip().splitlines()[-1]) == (3, "I was not allowed.")
    heard = json.dumps(server.requests[1].body, ensure_ascii=False)
    assert "text follows it" in heard
    assert "text follows it" in done.err


@pytest.mark.parametrize("protocol", ["auto", "text"])
def test_a_call_that_ends_the_answer_runs(protocol: str, fanout: Inside, server: WireServer) -> None:
    server.script(Answer(Text(f"मैं फ़ाइल पढ़ता हूँ।\n\n{MARKED}")), Answer(Text("It is 42.")))
    done = fanout.run("run", *model(server), *YES, "--protocol", protocol, "--dialect", "hermes_json", "go")
    assert (done.code, "→ 42" in done.err) == (0, True)


@pytest.mark.parametrize(("then", "code"), [(Call("calculator_evaluate", '{"expression": "6*7"}'), 0), (None, 3)])
def test_a_form_that_the_model_is_not_known_to_write_runs_only_once_it_calls_natively(
    then: Call | None, code: int, fanout: Inside, server: WireServer
) -> None:
    server.script(Answer(Text(MARKED)), *([Answer(then)] if then else []), Answer(Text("So.")))
    done = fanout.run("run", *model(server), *YES, "go")
    assert done.code == code, done.err
    assert ("--dialect hermes_json says that it does" in done.err) == (code == 3)
    assert "tool calls" in json.dumps(server.requests[1].body["messages"][-1])


@pytest.mark.parametrize(("then", "code"), [(Call("calculator_evaluate", '{"expression": "1"}'), 0), (None, 1)])
def test_a_tool_that_a_text_names_in_no_form_that_is_read_fails_the_run_unless_it_is_called(
    then: Call | None, code: int, fanout: Inside, server: WireServer
) -> None:
    server.script(
        Answer(Text("It says:\n\n> " + MARKED.replace("\n", "\n> ") + "\n\nSo.")),
        *([Answer(then)] if then else []),
        Answer(Text("So.")),
    )
    done = fanout.run("run", *model(server), *YES, "go")
    assert done.code == code, done.err
    assert "seems to call calculator_evaluate" in done.err
    assert "seems to call calculator_evaluate" in json.dumps(server.requests[1].body["messages"][-1])
    assert ("The model seemed to call calculator_evaluate" in done.err) == (code == 1)


def test_a_dialect_that_there_is_not_is_told(fanout: Inside, server: WireServer) -> None:
    done = fanout.run("run", *model(server), "--dialect", "hermes_jsn", "go")
    assert (done.code, "no dialect is called hermes_jsn. Did you mean hermes_json?" in done.err) == (2, True), done.err
