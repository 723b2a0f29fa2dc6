"""`fanout parse`: text in, JSON out."""

from __future__ import annotations

import json

from console_app.domain.safe_text import is_safe
from tests.each import each
from tests.headless.inside import Inside

TOOLS = json.dumps(
    [{"name": "read_file", "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}}]
)
CALL = 'It is here.\n<tool_call>\n{"name": "read_file", "arguments": {"path": "a\\u202e.md"}}\n</tool_call>'


def test_one_text_gives_one_object(fanout: Inside) -> None:
    fanout.write("tools.json", TOOLS)
    for chunk in ([], ["--chunk", "1"]):
        done = fanout.run("parse", "--tools", "tools.json", *chunk, stdin=CALL.encode())
        report = json.loads(done.out)
        assert done.code == 0
        assert is_safe(done.out)
        assert report["calls"] == [
            {
                "name": "read_file",
                "arguments": {"path": "a\u202e.md"},
                "form": "hermes_json",
                "stood": "behind “It is here.”, at the end of the answer",
                "asks": None,
            }
        ]
        assert (report["content"].strip(), report["error"], report["problems"]) == ("It is here.", None, [])


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
    assert counts == {"": 1, "auto": 1, "native": 0, "xml": 1}


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
    assert [len(problems) for problems in told.values()] == [1, 1, 1]
    assert "its model is not known to write calls so" in told[text][0]
    known = ("--protocol", "auto", "--dialect", "hermes_json")
    report = json.loads(fanout.run("parse", "--tools", "tools.json", *known, stdin=text.encode()).out)
    assert ([one["asks"] for one in report["calls"]], report["problems"]) == ([None], [])
    assert told[bare][0].startswith("line 1, column 1: asks: The call of read_file waits for approval: it is written")


HERMES = '<tool_call>\n{"name": "read_file", "arguments": {"path": "a"}}\n</tool_call>'
GLM = "<tool_call>read_file\n<arg_key>path</arg_key>\n<arg_value>a</arg_value>\n</tool_call>"
QUOTED = f"It says:\n{HERMES}\nThat is all."
READS = {  # protocol, dialect -> whether the calls of the three texts run, ask, or aren't read (None)
    ("auto", None): ("asks", "asks", "asks"),
    ("auto", "hermes_json"): ("runs", "asks", "asks"),
    ("auto", "glm45"): ("asks", "runs", "asks"),
    ("text", None): ("runs", "asks", "asks"),
    ("text", "glm45"): ("asks", "runs", "asks"),
    ("xml", None): ("asks", "asks", "asks"),
    ("native", None): (None, None, None),
    ("native", "hermes_json"): (None, None, None),
}


@each(("how", "expected"), READS.items())
def test_each_call_says_whether_a_session_would_ask(
    how: tuple[str, str | None], expected: tuple[str | None, ...], fanout: Inside
) -> None:
    fanout.write("tools.json", TOOLS)
    protocol, dialect = how
    more = ["--dialect", dialect] if dialect else []
    for text, does in zip((HERMES, GLM, QUOTED), expected, strict=True):
        done = fanout.run("parse", "--tools", "tools.json", "--protocol", protocol, *more, stdin=text.encode())
        calls = json.loads(done.out)["calls"]
        assert [("asks" if call["asks"] else "runs") for call in calls] == ([does] if does else [])


def test_a_dialect_that_there_is_not_is_an_error(fanout: Inside) -> None:
    fanout.write("tools.json", TOOLS)
    done = fanout.run("parse", "--tools", "tools.json", "--dialect", "hermes", stdin=b"")
    assert (done.code, "no dialect is called hermes." in done.err) == (2, True)
