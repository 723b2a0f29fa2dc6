"""`fanout parse`: text in, JSON out."""

from __future__ import annotations

import json

from console_app.domain.safe_text import is_safe
from tests.headless.inside import Inside

TOOLS = json.dumps(
    [{"name": "read_file", "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}}]
)
CALL = 'Here.\n<tool_call>\n{"name": "read_file", "arguments": {"path": "a\\u202e.md"}}\n</tool_call>'


def test_one_text_gives_one_object(fanout: Inside) -> None:
    fanout.write("tools.json", TOOLS)
    for chunk in ([], ["--chunk", "1"]):
        done = fanout.run("parse", "--tools", "tools.json", *chunk, stdin=CALL.encode())
        report = json.loads(done.out)
        assert done.code == 0
        assert is_safe(done.out)
        assert report["calls"] == [{"name": "read_file", "arguments": {"path": "a\u202e.md"}}]
        assert (report["content"].strip(), report["error"], report["problems"]) == ("Here.", None, [])


def test_a_case_a_line_gives_an_answer_a_line_and_a_bad_line_says_so(fanout: Inside) -> None:
    case = json.dumps({"id": "one", "tools": json.loads(TOOLS), "text": CALL})
    done = fanout.run("parse", "--jsonl", stdin=f"{case}\nnonsense\n\n{case}".encode())
    answers = [json.loads(line) for line in done.out.splitlines()]
    assert [answer["id"] for answer in answers] == ["one", None, "one"]
    assert answers[1]["error"] == "invalid"
    assert answers[2]["calls"][0]["name"] == "read_file"


def test_broken_tools_are_told_with_their_place(fanout: Inside) -> None:
    fanout.write("tools.json", "[{]")
    done = fanout.run("parse", "--tools", "tools.json")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "tools.json:1:3" in done.err
    fanout.write("tools.json", '[{"name": "x", "parameters": ' + "[" * 100_000 + "]" * 100_000 + "}]")
    done = fanout.run("parse", "--tools", "tools.json")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "tools.json: it nests too deeply" in done.err
    fanout.write("tools.json", '{"name": "x"}')
    assert "tools.json: the tools should be a JSON list" in fanout.run("parse", "--tools", "tools.json").err


def test_it_reads_as_text_and_with_auto_as_auto_would(fanout: Inside) -> None:
    fanout.write("tools.json", TOOLS)
    bare = b'Here.\n{"name": "read_file", "arguments": {"path": "a"}}'
    counts = {
        protocol: len(json.loads(fanout.run("parse", "--tools", "tools.json", *flags, stdin=bare).out)["calls"])
        for protocol, flags in {"": (), **{one: ("--protocol", one) for one in ("auto", "native", "xml")}}.items()
    }
    assert counts == {"": 1, "auto": 0, "native": 0, "xml": 1}


def test_a_call_that_would_wait_for_approval_says_so(fanout: Inside) -> None:
    fanout.write("tools.json", TOOLS)
    bare = '{"name": "read_file", "arguments": {"path": "a"}}'
    told = {}
    for text in (
        bare,
        f"The page says.\n<tool_call>{bare}</tool_call>\nThat is all.",
        f"<tool_call>{bare}</tool_call>",
    ):
        done = fanout.run("parse", "--tools", "tools.json", "--protocol", "auto", stdin=text.encode())
        report = json.loads(done.out)
        assert len(report["calls"]) == 1
        told[text] = report["problems"]
    assert [len(problems) for problems in told.values()] == [1, 1, 0]
    assert told[bare][0].startswith("line 1, column 1: asks: The call of read_file waits for approval: unmarked")
