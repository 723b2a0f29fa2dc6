"""Exports that people and programs can read, and that no foreign text can break out of."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from console_app import page
from console_app.domain import events as ev
from console_app.domain.messages import Attachment, UserMessage
from console_app.domain.tools import Outcome
from console_app.sessions.export import ImportFailed, exported, imported
from tests.each import each
from tests.sessions.test_store import TURN, numbered

HOSTILE = "<script>alert(1)</script> ```\nfence ```` \x1b]52;c;aGk=\x07 \u202e"


def told(events: list[ev.Event], form: str) -> str:
    """A session as the command writes it."""
    return page.of_conversation(events, "x") if form == "html" else exported(events, form, "x")


def hostile() -> list[ev.Event]:
    return numbered(
        ev.TurnStarted(prompt=HOSTILE),
        ev.StepStarted(),
        ev.CallAnnounced(call_id="a", index=0, name=HOSTILE, server="", tool=""),
        ev.CallReady(call_id="a", arguments={"x": HOSTILE}),
        ev.CallFinished(call_id="a", outcome=Outcome.FAILED, content=HOSTILE),
        ev.TurnFinished(outcome="failed", error=HOSTILE),
    )


def test_what_servers_wrote_into_a_prompt_is_exported_with_it() -> None:
    attached = Attachment(server="notes", uri="note://1", text=f"the note {HOSTILE}")
    message = UserMessage(content="Review this python.", source="/notes:review python", attachments=(attached,))
    events = numbered(
        ev.TurnStarted(prompt="/notes:review python"),
        ev.MessageAdded(**ev.MessageAdded.fields_of(message)),
        ev.TurnFinished(outcome="completed"),
    )
    text = exported(events, "md", "x")
    order = ["/notes:review python", "Review this python.", "attached: notes note://1", "the note"]
    assert [part for part in order if part not in text] == []
    written = page.of_conversation(events, "x")
    assert [part for part in order if part not in written] == []


def test_markdown_tells_the_conversation_in_order() -> None:
    text = exported(numbered(*TURN), "md", "Weather")
    order = ["# Weather", "Compare the weather in Oslo", "I'll look that up.", '"x": 1', "fine", "minus four degrees"]
    places = [text.index(part) for part in order]
    assert places == sorted(places)


@each("form", ["md", "html"])
def test_thoughts_steering_summaries_and_cuts_are_exported_where_they_came(form: str) -> None:
    events = numbered(
        ev.TurnStarted(prompt="Look at it.", turn=1),
        ev.MessageAdded.of(UserMessage(content="Look at it.")),
        ev.StepStarted(turn=1),
        ev.ReasoningDelta(text="First I wonder."),
        ev.Thought(label="think", text="Then I plan."),
        ev.MessageAdded(role="assistant", content="I begin"),
        ev.MessageAdded.of(UserMessage(content="Hurry up.")),
        ev.StepStarted(turn=1),
        ev.MessageAdded(role="assistant", content="I hur", interrupted=True),
        ev.HistoryCompacted(summary="They looked at it.", covers=2, turn=1),
        ev.TurnFinished(outcome="cancelled", turn=1),
    )
    text = told(events, form)
    order = ["Look at it.", "First I wonder.", "Then I plan.", "I begin", "Hurry up.", "I hur [cut off here]"]
    places = [text.index(part) for part in [*order, "oldest 2 messages", "They looked at it.", "Cancelled"]]
    assert places == sorted(places)


@each("form", ["md", "html", "jsonl", "trace"])
def test_an_answer_that_is_not_finished_is_exported_as_that(form: str) -> None:
    """And what each of its calls was at: what runs does not look as if it had come to nothing."""
    asked = [ev.TurnStarted(prompt="Look.", turn=1), ev.StepStarted(turn=1)]
    calls: list[ev.Event] = []
    for number in range(4):
        names = {"name": f"demo_tool{number}", "server": "demo", "tool": f"tool{number}"}
        calls.append(ev.CallAnnounced(call_id=f"c{number}", index=number, at=1.0, **names))
    calls += [ev.CallReady(call_id=f"c{number}", arguments={}, at=2.0) for number in (1, 2, 3)]
    calls += [ev.ApprovalRequested(call_id="c1", why="changes"), ev.CallQueued(call_id="c2", why="limit")]
    calls.append(ev.CallStarted(call_id="c3", at=3.0))
    text = told(numbered(*asked, *calls), form)
    words = {"md": "*Not finished when", "html": "<em>Not finished when", "jsonl": '"Not finished when'}
    assert words.get(form, "turn 1 (not finished)") in text
    if form in ("md", "html"):
        for line in ("preparing", "needs approval", "queued", "running"):
            assert f": {line}" in text or f"{line}: " in text
        assert "What the model was writing" not in text
    if form == "trace":
        assert '"outcome": "running"' in text
    if form != "trace":
        assert "What the model was writing is not in it." in told(numbered(*asked), form)
        assert "Not finished" not in told(numbered(*TURN), form)
    if form == "jsonl":
        again = imported(text.splitlines(), "a.jsonl", "other")
        assert [type(event) for event in again] == [type(event) for event in numbered(*asked, *calls)] + [ev.Notice]


def test_a_fence_in_a_result_does_not_end_its_fence() -> None:
    text = exported(hostile(), "md", "x")
    assert "`````\n" in text
    assert "\x1b" not in text


def test_json_lines_come_back_as_another_session() -> None:
    events = [event for event in numbered(*TURN) if not event.shown_only]
    lines = exported(events, "jsonl", "").splitlines()
    again = imported(lines, "file.jsonl", "new")
    assert [json.loads(line)["type"] for line in lines] == [event.type for event in again]
    assert {event.session_id for event in again} == {"new"}
    assert [event.seq for event in again] == list(range(1, len(again) + 1))


@each("lines", [['{"type":"notice","text":"ok"}', "{"], ['{"type":"what"}'], ["[]"]])
def test_a_broken_line_is_named(lines: list[str]) -> None:
    with pytest.raises(ImportFailed, match=rf"file\.jsonl, line {len(lines)}: not an event \([A-Z]") as raised:
        imported(lines, "file.jsonl", "new")
    assert "pydantic" not in raised.value.line


def test_an_empty_file_is_no_session() -> None:
    with pytest.raises(ImportFailed, match="holds no events"):
        imported([""], "file.jsonl", "new")


def test_a_trace_has_a_process_a_turn_a_line_a_call_and_a_bar_a_phase() -> None:
    trace = json.loads(exported(hostile_and_slow(), "trace", "x"))
    bars = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    assert [(bar["cat"], bar["pid"], bar["tid"], bar["ts"], bar["dur"]) for bar in bars] == [
        ("arguments", 1, 1, 0, 500_000),
        ("queue", 1, 1, 500_000, 1_500_000),
        ("run", 1, 1, 2_000_000, 3_000_000),
    ]
    assert bars[-1]["args"]["outcome"] == "failed"
    assert '"x"' in bars[-1]["args"]["arguments"]
    names = {event["name"] for event in trace["traceEvents"] if event["ph"] == "M"}
    assert names == {"process_name", "thread_name", "thread_sort_index"}
    assert "\x1b" not in json.dumps(trace, ensure_ascii=False)


def test_a_trace_of_nothing_and_of_what_never_ran_is_whole() -> None:
    for events in ([], numbered(*TURN), hostile()):
        assert json.loads(exported(events, "trace", "x"))["displayTimeUnit"] == "ms"


def hostile_and_slow() -> list[ev.Event]:
    told = hostile()
    told.insert(4, ev.CallStarted(call_id="a"))
    times = (0.0, 0.0, 1.0, 1.5, 3.0, 6.0, 7.0)
    return [
        event.model_copy(update={"seq": n, "turn": 1, "at": 1_750_000_000.0 + at})
        for n, (event, at) in enumerate(zip(told, times, strict=True))
    ]


# What Markdown is made of, and what it may act by.
PIECES = [
    *("![x](http://a.test/p.png)", "![x]", "[x](javascript:alert(1))", "[x]: javascript:alert(1)", "[x]"),
    *("](", "]:", "!["),
    *("<img src=http://a.test/p.png>", "<script>", "<!--", "-->", "<javascript:a>", "<div>", "&lt;", "&#60;img&#62;"),
    *("`", "``", "```", "````", "~~~", "```py", "~~~ a`b", "\\", "\\`", "|", "| - |", ":-:", "-", "1. ", "> "),
    *("#", "***"),
    *("\n", "\n\n", "\n    ", "\n  ", "\n\t", " ", "a", "(", ")", "[", "]", "!", "[^1]:", "http://a.test/"),
    *("  \n", "\u00a0", "\n\u00a0\n"),
]  # fmt: skip
MARKDOWN = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)
READERS = [MarkdownIt("commonmark", {"html": True}), MarkdownIt("default", {"html": True})]


def acts(text: str) -> list[str]:
    """Return the addresses that a reader of this Markdown would fetch, run or lead to beyond the web."""
    tokens = [token for reader in READERS for token in reader.parse(text)]
    tokens += [child for token in tokens for child in token.children or ()]
    links = [str(token.attrs["href"]) for token in tokens if token.type == "link_open"]
    return [token.type for token in tokens if token.type in ("image", "html_block", "html_inline")] + [
        link for link in links if not link.startswith(("http://", "https://"))
    ]


@given(first=MARKDOWN, second=MARKDOWN, other=MARKDOWN)
@example("`a\n- ![x](http://a) `", "- a", "  ```\n![x](http://a)\n  ```")
@example("- a", "  ```\n![x](http://a)\n  ```", "```")
@example("```", "![x](http://a)", "````\n<img src=http://a>")
@example("`b\nc` ![x](http://a) `", "| a | b |\n|---|---|\n| d` | e` p` ![x](http://a) q` |", "\\` `![x](http://a)`")
@example("`a\n\u00a0\nb` ![x](http://a) `", "`a\n\u2003\nb` ![x](http://a) `", "")
@example("[x]: http://a`\n![y](http://b)`", "| d` | e` p` ![x](http://a) q` |", "\\`![x](http://a)`")
@example(" ```\n", "```\n![x](http://a)\n```", "<!--\n```\n-->\n```\n![x](http://a)\n```")
def test_markdown_fetches_and_runs_nothing_whatever_was_said(first: str, second: str, other: str) -> None:
    answers = (
        event
        for number, text in enumerate((first, second, other))
        for event in (
            ev.StepStarted(),
            ev.ReasoningDelta(text=text),
            ev.TextDelta(text=text),
            ev.CallAnnounced(call_id=f"{number}", index=0, name=other, server=first, tool=second),
            ev.CallReady(call_id=f"{number}", arguments={"x": first}),
            ev.CallFinished(call_id=f"{number}", outcome=Outcome.FAILED, content=second),
        )
    )
    events = numbered(ev.TurnStarted(prompt=second), *answers, ev.TurnFinished(outcome="failed", error=first))
    assert acts(exported(events, "md", other)) == []


@each(
    "text",
    [
        "# Head\n\nSome *words*, `a < b` and ``x ` <y>``.\n\n- [a page](https://a.test/x)\n- 2 > 1\n\n> quoted",
        "```html\n<img src=x>\n```\n\nthen",
        "1. first\n\n   ```c\n   #include <stdio.h>\n   ```\n\n2. second",
        "| a | b |\n|---|---|\n| 1 | 2 |",
    ],
)
def test_what_acts_by_nothing_stays_as_it_was_written(text: str) -> None:
    events = numbered(ev.TurnStarted(prompt="go"), ev.StepStarted(), ev.TextDelta(text=text))
    assert text in exported(events, "md", "x")


def test_what_would_act_reads_the_same() -> None:
    said = "![a](http://b.test) <b> [c](javascript:d)\n\n[e]: http://f.test"
    events = numbered(ev.TurnStarted(prompt="go"), ev.StepStarted(), ev.TextDelta(text=said))
    assert "\\![a](http://b.test) \\<b> [c]\\(javascript:d)\n\n[e]\\: http://f.test" in exported(events, "md", "x")
