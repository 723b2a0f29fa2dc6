"""Every block at every width: lines of exactly that width, glyph and word for every state, and nothing foreign raw."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from rich.style import Style

from console_app.domain.tools import Artifact, CallState, Outcome, ToolResult
from console_app.domain.transcript import BatchView, CallView, LogLine
from console_app.domain.transcript.views import AgentWork, GrowingText
from console_app.engine.calls import results
from console_app.engine.calls.results import shared
from console_app.tui.lineview import AssistantBlock, Block, CallBlock, UserBlock
from console_app.tui.lineview.blocks.block_list import HeightIndex
from console_app.tui.lineview.blocks.messages import ReasoningBlock, ThoughtBlock
from console_app.tui.lineview.blocks.notices import NoticeBlock, TurnEndBlock
from console_app.tui.lineview.calls.group import BatchBlock, CallGroup
from console_app.tui.lineview.lines import Line
from console_app.tui.lineview.palette import build_palette, contrast
from console_app.tui.lineview.text.ansi import AnsiPainter
from console_app.tui.lineview.text.text_page import TextPage
from tests.each import each
from tests.examples import examples
from tests.tui.lineview.scenes import PALETTE, START, text_of

NASTY = "[/red]\x1b]52;c;aGk=\x07\x1b[2J\u202eabc\u200b\r\n\t漢字👩‍🚀 \x9b31m [@click=app.quit]x"


def a_call(state: CallState = CallState.RUNNING, **fields: Any) -> CallView:
    call = CallView("call_1", 0, "demo_look_up", "demo", "look_up", "native", START, state=state, ready_at=START)
    call.arguments = {"city": "Oslo"}
    if state in (CallState.RUNNING, CallState.FINISHED):
        call.started_at = START + 0.5
    if state is CallState.FINISHED:
        call.finished_at, call.duration_ms = START + 2.5, 2000
    for name, value in fields.items():
        setattr(call, name, value)
    return call


def panel(*calls: CallView, room: int = 100, settled: bool = False) -> CallBlock:
    group = CallGroup(BatchView(list(calls)))
    group.room, group.settled = room, settled
    return CallBlock(calls[0], group)


def shown(block: Block, width: int = 90, now: float = START + 3) -> str:
    return text_of(block.render(width, PALETTE, now))


def assert_clean(block: Block, width: int) -> None:
    for line in block.render(width, PALETTE, START + 40):
        assert sum(segment.cell_length for segment in line) == line.cell_length == width
        assert 0 <= line.start <= line.end <= len(line.text)
        assert not [char for char in line.text if unicodedata.category(char) in ("Cc", "Cs") or char == "\u202e"]


@each(
    ("outcome", "words"),
    [
        (Outcome.SUCCEEDED, "✓ look_up  Oslo · 3.14"),
        (Outcome.FAILED, "✗ look_up  Oslo · failed · what went wrong"),
        (Outcome.TIMED_OUT, "✗ look_up  Oslo · timed out · what went wrong"),
        (Outcome.CANCELLED, "■ look_up  Oslo · stopped · what went wrong"),
        (Outcome.DENIED, "⊘ look_up  Oslo · denied · what went wrong"),
        (Outcome.BLOCKED, "⊘ look_up  Oslo · blocked · what went wrong"),
        (Outcome.SKIPPED, "» look_up  Oslo · skipped · what went wrong"),
        (Outcome.INVALID, "! look_up  Oslo · invalid · what went wrong"),
        (Outcome.INTERRUPTED, "✗ look_up  Oslo · interrupted · what went wrong"),
    ],
)
@each("settled", [False, True])
def test_every_outcome_is_a_sentence_that_says_no_word_for_what_went_well(
    outcome: Outcome, words: str, settled: bool
) -> None:
    error = None if outcome is Outcome.SUCCEEDED else "what went wrong"
    call = a_call(CallState.FINISHED, outcome=outcome, content="3.14", error=error)
    text = shown(panel(call, settled=settled))
    assert words in text
    assert "demo" not in text, "no other server has a tool of that name"


@each("error", ["interrupted", "Interrupted before completion."])
def test_that_a_call_was_interrupted_is_said_once(error: str) -> None:
    call = a_call(
        CallState.FINISHED, outcome=Outcome.INTERRUPTED, content="Interrupted before completion.", error=error
    )
    assert shown(panel(call)).lower().count("interrupted") == 1


@each("outcome", [Outcome.CANCELLED, Outcome.DENIED])
def test_what_you_declined_is_neutral_and_what_failed_is_in_the_error_colour(outcome: Outcome) -> None:
    def inks(outcome: Outcome) -> set[object]:
        block = panel(a_call(CallState.FINISHED, outcome=outcome, content="x", error="x"))
        return {segment.style for line in block.render(80, PALETTE, START) for segment in line}

    assert PALETTE.error in inks(Outcome.FAILED)
    assert PALETTE.error not in inks(outcome)


def test_a_running_panel_shows_percent_count_and_newest_line() -> None:
    call = a_call(progress=31, total=50, message="fetching", news_at=START)
    assert "Oslo · 62 %  fetching  31 of 50" in shown(panel(call))
    assert "2.5 s" in shown(panel(call))


@each("message", ["step 3 of 40", "part 3/40: fetching"])
def test_how_far_a_call_is_is_said_once(message: str) -> None:
    call = a_call(progress=3, total=40, message=message, news_at=START)
    text = shown(panel(call))
    assert message in text
    assert text.count("40") == 1
    call.message = "step 13 of 40"
    assert "13 of 40  3 of 40" in shown(panel(call))


def test_a_message_that_is_cut_off_does_not_take_the_count_along() -> None:
    call = a_call(progress=3, total=40, message="a long story of what goes on " * 9, news_at=START)
    assert "3 of 40  a long story" in shown(panel(call), 80)


def test_of_a_message_there_is_enough_or_nothing_beside_the_count() -> None:
    call = a_call(progress=3, total=40, message="3 of 40 folders and all that is in them", news_at=START)
    for width in range(56, 80):
        text = shown(panel(call), width)
        assert re.search(r"%  3 of 40 (f|…)", text), text
        assert text.count("of 40") == 1
    call.message = "a long story of what goes on " * 9
    for width in range(56, 80):
        text = shown(panel(call), width)
        assert "3 of 40" in text
        assert not re.search(r"3 of 40  .{1,4}…", text), text


def test_what_tells_calls_apart_comes_first_and_a_path_shows_its_end() -> None:
    calls = [a_call() for _ in range(6)]
    for n, call in enumerate(calls):
        call.id = f"call_{n}"
        call.arguments = {"encoding": "utf-8", "path": f"/srv/a-project/source/part_{n}.py"}
    group = CallGroup(BatchView(calls))
    group.room = 6
    for n, call in enumerate(calls):
        assert f"part_{n}.py" in shown(CallBlock(call, group), 80)


def test_a_call_of_no_time_says_milliseconds() -> None:
    call = a_call(CallState.FINISHED, outcome=Outcome.SUCCEEDED, content="2", duration_ms=4)
    assert shown(panel(call)).endswith("  4 ms")


def test_progress_is_the_ground_of_the_row_where_the_whole_is_known_and_nothing_else_looks_like_it() -> None:
    def filled(**fields: Any) -> int:
        line = panel(a_call(news_at=START, **fields)).render(100, PALETTE, START + 3)[-1]
        assert PALETTE.chosen is not None
        ground = PALETTE.chosen.base.bgcolor
        return sum(one.cell_length for one in line if one.style is not None and one.style.bgcolor == ground)

    assert filled(progress=31, total=50, message="fetching") == int(95 * 0.62)
    assert filled(progress=7, message="looking") == filled() == 0
    assert "Oslo · looking" in shown(panel(a_call(progress=0, message="looking", news_at=START))), "0 of nothing"
    assert "Oslo · 7  looking" in shown(panel(a_call(progress=7, message="looking", news_at=START)))


def test_a_call_without_news_for_long_says_so() -> None:
    call = a_call(message="connecting", news_at=START)
    assert "taking longer" not in shown(panel(call), now=START + 29)
    assert "taking longer than expected" in shown(panel(call), now=START + 31)


def test_an_agent_without_news_for_a_minute_says_so() -> None:
    call = a_call(message="I look", news_at=START, work=AgentWork(steps=1))
    assert "news" not in shown(panel(call), 140, now=START + 9)
    assert "last news 58 s ago · step 1" in shown(panel(call), 140, now=START + 59)
    assert "no news for 1 m 00 s · step 1" in shown(panel(call), 80, now=START + 61)
    call.work = AgentWork(steps=1, waiting={"call_2"})
    assert "needs you · step 1" in shown(panel(call), 80, now=START + 61)


def test_the_row_of_an_agent_that_ended_says_what_came_of_it() -> None:
    worked = AgentWork(steps=3, calls=3, tokens=7300)
    own = {"server": "fanout", "tool": "agent", "runs": "scout", "state": CallState.FINISHED, "work": worked}
    failed = a_call(**own, outcome=Outcome.FAILED, error="files · read_file failed 3 times alike", content="…")
    assert "failed · files · read_file failed 3" in shown(panel(failed), 80), "the reason before the figures"
    answered = a_call(**own, outcome=Outcome.SUCCEEDED, content="**Finished** all of `it`.")
    assert "7.3k tokens · Finished all of it." in shown(panel(answered), 100), "without the marks of Markdown"


def test_a_call_that_ends_by_itself_says_when_and_what_would_help() -> None:
    call = a_call(message="connecting", news_at=START, counts_from=START, limit=20)
    assert "s without progress" in shown(panel(call), 140, now=START + 15)
    call.news_at = START + 24 * 20 - 10
    assert "s, whatever it sends" in shown(panel(call), 140, now=START + 24 * 20 - 4)


def test_arguments_are_shown_while_they_arrive() -> None:
    call = a_call(
        CallState.ANNOUNCED,
        arguments=None,
        ready_at=None,
        arriving=GrowingText('{"path": "report.md", "content": "# We'),
    )
    text = shown(panel(call))
    assert "look_up  report.md" in text
    assert "content=" in text
    assert "arguments arriving" in text


def test_what_waits_is_on_the_board_and_what_is_queued_says_why_once() -> None:
    assert shown(panel(a_call(CallState.WAITING, why="writes a file"))) == "", "it stands on the board"
    queued = [a_call(CallState.QUEUED, why=f"mirrors takes {n} at once") for n in (8, 8, 2)]
    group = CallGroup(BatchView(queued))
    assert shown(BatchBlock(group), 100).strip() == "3 calls · 3 queued · 2 of them: mirrors takes 8 at once"
    assert "mirrors" not in shown(CallBlock(queued[0], group)), "the counts say why"
    assert shown(panel(a_call(CallState.QUEUED, why="mirrors takes 8 at once"))).endswith("mirrors takes 8 at once")


def test_a_panel_keeps_its_height_from_the_first_to_the_last() -> None:
    heights = {
        len(panel(call).render(80, PALETTE, START))
        for call in (
            a_call(CallState.ANNOUNCED),
            a_call(CallState.QUEUED),
            a_call(message="x"),
            a_call(CallState.FINISHED, outcome=Outcome.SUCCEEDED, content="long\n" * 1000),
        )
    }
    assert len(heights) == 1


def test_many_calls_become_a_line_each_and_one_opens_in_place() -> None:
    calls = [a_call() for _ in range(12)]
    block = panel(*calls, room=30)
    assert len(block.render(100, PALETTE, START)) == 1
    block.toggle()
    assert len(block.render(100, PALETTE, START)) > 4


def test_the_header_counts_and_says_what_was_saved() -> None:
    calls = [
        a_call(CallState.FINISHED, outcome=Outcome.SUCCEEDED),
        a_call(),
        a_call(),
        a_call(CallState.WAITING),
        a_call(CallState.FINISHED, outcome=Outcome.FAILED),
    ]
    text = shown(BatchBlock(CallGroup(BatchView(calls))), 120)
    assert text.strip() == "5 calls · 1 needs you · 2 running · 1 ok · 1 failed · 2.5 s"
    for width in range(40, 120):  # what there is no room for goes with its separator
        assert not shown(BatchBlock(CallGroup(BatchView(calls))), width).rstrip().endswith("·"), width
    assert BatchBlock(CallGroup(BatchView(calls[:1]))).render(80, PALETTE, START) == []


def test_an_open_panel_shows_arguments_output_result_files_and_id() -> None:
    call = a_call(
        CallState.FINISHED,
        outcome=Outcome.SUCCEEDED,
        content='{"a": [1, 2], "b": "x"}',
        log=[LogLine(START + 1, "info", "\x1b[31mred\x1b[0m line"), LogLine(START + 2, "error", "bad")],
        artifacts=(Artifact(name="plot.png", mime="image/png", path="/files/plot.png", size=2048),),
    )
    block = panel(call)
    block.toggle()
    text = shown(block)
    for part in ("city  Oslo", "red line", '"a": [', "plot.png", "/files/plot.png", "2.0 KB", "call_1"):
        assert part in text


@each(
    ("error", "content"),
    [
        (None, "no such city"),
        ("no such city", "Tool execution failed: no such city"),
        ("no such city", "Look in the list."),
        (f"no such city {'in any list of cities ' * 3}", "Look in the list."),
    ],
)
def test_an_open_failed_panel_says_its_error_once(error: str | None, content: str) -> None:
    call = a_call(CallState.FINISHED, outcome=Outcome.FAILED, error=error, content=content)
    block = panel(call)
    assert shown(block).count("no such city") == 1
    block.toggle()
    assert shown(block).count("no such city") == 1


def test_an_error_at_the_end_of_pages_stays_in_the_head_of_an_open_panel() -> None:
    content = "a line\n" * 1000 + "ValueError: no such city"
    block = panel(a_call(CallState.FINISHED, outcome=Outcome.FAILED, error="no such city", content=content))
    block.toggle()
    assert "no such city" in shown(block)


def test_an_invalid_call_shows_what_the_model_wrote() -> None:
    call = a_call(
        CallState.FINISHED, outcome=Outcome.INVALID, error="no JSON", content="no JSON", raw="<tool>{bad", origin="text"
    )
    call.repaired = ("a comma was missing",)
    block = panel(call)
    block.toggle()
    text = shown(block)
    assert "<tool>{bad" in text
    assert "[text]" in text
    assert "[repaired]" in text
    assert "a comma was missing" in text


def test_ten_megabytes_are_shown_by_the_page() -> None:
    content = "some line of output\n" * 500_000
    block = panel(a_call(CallState.FINISHED, outcome=Outcome.SUCCEEDED, content=content))
    assert "+ 499,999 lines · 10.0 MB" in shown(block, 110)
    block.toggle()
    first = len(block.render(100, PALETTE, START))
    assert 200 < first < 230
    assert "499,800 more lines · m shows more · c copies all" in shown(block, 100)
    block.detail.press("more")
    block.touch()
    assert len(block.render(100, PALETTE, START)) == first + 400
    assert block.copy_text == content


def test_a_line_of_ten_megabytes_is_cut() -> None:
    page = TextPage("x" * 10_000_000)
    lines, left = page.first(10)
    assert left == 0
    assert len(lines[0]) < 5000
    assert "10.0 MB more on this line" in lines[0]


def test_tools_colours_become_styles_and_everything_else_stays_visible() -> None:
    painter = AnsiPainter(PALETTE.base, PALETTE)
    pieces = painter.line("a \x1b[1;31mred\x1b[0m \x1b]52;c;x\x07 \x1b[2J \x1b[8mhidden\x1b[5mblink")
    text = "".join(part for part, _ in pieces)
    assert text == "a red ␛]52;c;x␇ ␛[2J hiddenblink"
    red = next(style for part, style in pieces if part == "red")
    assert red.bold
    assert red.color == PALETTE.ansi[1]
    assert not any(style.conceal or style.blink for _, style in pieces)


def test_colours_carry_over_to_the_next_line() -> None:
    painter = AnsiPainter(PALETTE.base, PALETTE)
    painter.line("\x1b[38;2;1;2;3mopen")
    assert painter.line("next")[0][1].color == painter.line("more")[0][1].color != PALETTE.base.color


@examples(150)
@given(st.text(max_size=60), st.integers(1, 100), st.sampled_from(list(Outcome)), st.booleans())
def test_no_text_breaks_a_finished_panel(text: str, width: int, outcome: Outcome, settled: bool) -> None:
    call = a_call(CallState.FINISHED, outcome=outcome, content=text + NASTY, error=text or None, raw=text)
    call.server, call.tool, call.arguments = text[:20], text[::-1][:20], {text: [text], "b": {"c": text}}
    call.log = [LogLine(START, "info", text + NASTY)]
    block = panel(call, call, settled=settled)
    assert_clean(block, width)
    block.selected = True
    assert_clean(block, width)
    block.toggle()
    assert_clean(block, width)


@examples(100)
@given(st.text(max_size=60), st.integers(1, 100), st.sampled_from(list(CallState)[:4]))
def test_no_text_breaks_a_panel_at_work(text: str, width: int, state: CallState) -> None:
    call = a_call(state, why=text + NASTY, message=text + NASTY, arguments=None, arriving=GrowingText(text), progress=1)
    for block in (panel(call), panel(call, room=2), BatchBlock(CallGroup(BatchView([call, call])))):
        assert_clean(block, width)
        block.open = True
        assert_clean(block, width)


@examples(100)
@given(st.text(max_size=80), st.integers(1, 100))
def test_no_text_breaks_what_was_said(text: str, width: int) -> None:
    reasoning = ReasoningBlock(text + NASTY, started_at=START)
    end = TurnEndBlock("failed", error=text + NASTY)
    end.took, end.tokens, end.cost = 1, 1200, 0.5
    for block in (
        UserBlock(text + NASTY),
        UserBlock((text + "\n") * 20, steered=True),
        AssistantBlock(text + NASTY),
        reasoning,
        NoticeBlock("warning", text + NASTY),
        ThoughtBlock("observe", text + NASTY),
        end,
    ):
        assert_clean(block, width)
        if block.opens:
            block.toggle()
            assert_clean(block, width)


def test_a_thought_stands_behind_its_label() -> None:
    block = ThoughtBlock("plan", "Read the **file**:\n\n" + "and say what it holds, " * 3)
    assert [line.rstrip() for line in shown(block, 60).splitlines()[1:]] == [
        " ┊ plan     Read the file:",
        " ┊",
        " ┊          and say what it holds, and say what it holds,",
        " ┊          and say what it holds,",
    ]
    assert [line.strip(" ┊") for line in shown(block, 30).splitlines()[1:3]] == ["plan", "Read the file:"]


def test_a_block_paints_once_until_something_changes() -> None:
    block = AssistantBlock("Hello")
    first = block.render(40, PALETTE, 1.0)
    assert block.render(40, PALETTE, 2.0) is first
    block.append(" you")
    assert block.render(40, PALETTE, 2.0) is not first
    assert panel(a_call()).live
    assert not panel(a_call(CallState.FINISHED, outcome=Outcome.SUCCEEDED)).live


def test_long_words_of_the_user_are_folded() -> None:
    block = UserBlock("\n".join(f"line {n}" for n in range(40)))
    assert "+ 28 lines · o open" in shown(block)
    block.toggle()
    assert "line 39" in shown(block)


def test_reasoning_is_one_line_until_it_is_opened() -> None:
    block = ReasoningBlock(started_at=START)
    block.append("First thought.\nSecond thought.")
    assert "thinking 3.0 s" in shown(block)
    assert "Second thought." in shown(block)
    assert len(block.render(80, PALETTE, START)) == 2
    block.end(START + 4)
    assert "thought for 4.0 s" in shown(block)
    block.toggle()
    assert "First thought." in shown(block)


@given(st.lists(st.tuples(st.sampled_from("asir"), st.integers(0, 30), st.integers(0, 9)), max_size=60))
def test_heights_add_up_whatever_is_changed(changes: list[tuple[str, int, int]]) -> None:
    index, plain = HeightIndex(), list[int]()
    for what, place, height in changes:
        at = place % (len(plain) + 1)
        if what == "a" or not plain:
            index.append(height)
            plain.append(height)
        elif what == "s":
            index.set(at % len(plain), height)
            plain[at % len(plain)] = height
        elif what == "i":
            index.insert(at, height)
            plain.insert(at, height)
        else:
            index.remove(at % len(plain))
            del plain[at % len(plain)]
    assert index.total == sum(plain)
    lines = [(n, place) for n, height in enumerate(plain) for place in range(height)]
    for line, found in enumerate(lines):
        assert index.find(line) == found
    assert index.find(sum(plain)) == (len(plain), 0)


def test_weak_colours_are_moved_until_they_can_be_read() -> None:
    from textual.color import Color

    palette = build_palette({"background": "#ffffff", "foreground": "#cccccc", "error": "#ffdddd"}, dark=False)
    ground = Color.parse("#ffffff")
    for style in (palette.base, palette.muted, palette.error, palette.syntax["comment"]):
        assert style.color is not None
        ink = style.color.get_truecolor()
        assert contrast(Color(*ink), ground) >= 4.5


def test_a_theme_of_the_terminals_own_colours_works() -> None:
    palette = build_palette({"background": "ansi_default", "foreground": "ansi_default", "error": "ansi_red"})
    assert palette.base.bgcolor is not None
    assert palette.base.bgcolor.is_default
    block = panel(a_call(CallState.FINISHED, outcome=Outcome.FAILED, content=json.dumps({"a": 1}), error="no"))
    block.toggle()
    assert "✗ look_up · failed" in text_of(block.render(60, palette, START))


@given(
    width=st.integers(8, 200),
    arguments=st.lists(
        st.dictionaries(st.sampled_from(["path", "query"]), st.text(max_size=40), max_size=3), max_size=6
    ),
    servers=st.lists(st.sampled_from(["a", "files", "a-server-of-a-very-long-name"]), min_size=6, max_size=6),
)
def test_rows_are_told_apart_and_the_result_has_a_third(
    width: int, arguments: list[dict[str, str]], servers: list[str]
) -> None:
    calls = [a_call() for _ in range(6)]
    for n, (call, server) in enumerate(zip(calls, servers, strict=True)):
        call.id, call.server = f"call_{n}", server
        call.arguments = {"i": n, **(arguments[n] if n < len(arguments) else {})}
        call.message = "x" * 200
    group = CallGroup(BatchView(calls))
    group.room = 6
    for call in calls:
        text = shown(CallBlock(call, group), width)
        assert len(text.splitlines()) == 1
        if width >= 60:
            assert re.search(r"(?:look_up|…)  \S", text)
            assert text.count("x") >= (width - 5) // 3 - 1, "the result"


def test_what_waits_for_a_person_is_not_counted_as_saved() -> None:
    calls = [a_call(CallState.FINISHED, outcome=Outcome.SUCCEEDED) for _ in range(3)]
    for call in calls:  # each asks you for a minute and a half while it runs, all at the same time
        call.started_at, call.finished_at = START, START + 92
        call.waits.append((START + 1, START + 91))
    group = CallGroup(BatchView(calls, wall_ms=92_000, summed_ms=276_000))
    assert shown(BatchBlock(group), 120).strip() == "3 calls · 3 ok · 2.0 s, 6.0 s one by one"


def test_what_was_cut_before_is_not_cut_with_a_second_ellipsis() -> None:
    plain = Style()
    assert Line.trim([("abcd… and more", plain)], 6) == [("abcd…", plain)]
    assert Line.trim([("abc…", plain), ("def", plain)], 4) == [("abc", plain), ("…", plain)]


def test_a_call_that_ran_once_for_all_its_equals_shows_what_came() -> None:
    """The row said what the model is told of it, and no word of the result had room."""
    content = shared(ToolResult(outcome=Outcome.SUCCEEDED, content="Oslo: rain")).content
    call = a_call(CallState.FINISHED, outcome=Outcome.SUCCEEDED, content=content)
    text = shown(panel(call), 100)
    assert "[ran once for all]" in text
    assert "Oslo: rain" in text
    assert "equal calls" not in text


def test_an_open_call_that_you_cancelled_says_so_to_you_and_not_what_the_model_is_told() -> None:
    told = results.cancelled(["half a page"], started=True)
    block = panel(a_call(CallState.FINISHED, outcome=told.outcome, content=told.content))
    block.toggle()
    text = shown(block)
    assert "You cancelled it. It had sent so far:" in text
    assert "half a page" in text
    assert "The user" not in text
    assert "The user" not in block.copy_text
