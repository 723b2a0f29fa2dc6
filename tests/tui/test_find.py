"""Find: Ctrl+F and /find look through the whole conversation, folded results too; n and N go from match to match."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from console_app.domain.ports import CallReporter, Invocation
from console_app.domain.tools import ToolResult
from console_app.tui.lineview import AssistantBlock, CallBlock, Finder, UserBlock
from console_app.tui.main_screen.bars.find_bar import FindBar
from tests.tui.parts import Answer, Tools, WrittenModel, app, at_rest, calls, chat, painted, say, see, until

LONG = "\n".join(f"line {n} of the report" for n in range(900)) + "\nhere is the needle"


FAR = "\n".join(f"row {n}" for n in range(20_000)) + "\nhere is the pin"
WIDE = "straw " * 60_000 + "and the nail"


async def report(invocation: Invocation, reporter: CallReporter) -> str:
    if invocation.arguments.get("far"):
        return FAR
    if invocation.arguments.get("wide"):
        return WIDE
    if invocation.arguments.get("broken"):
        raise RuntimeError("the disk is full")
    if invocation.arguments.get("markdown"):
        return "# A report\n\n" + "A *paragraph* of `it`.\n\n" * 300 + "Here is the tack."
    if invocation.arguments.get("deep"):
        return json.dumps({"parts": [{"number": n, "of": {"name": f"part {n} of it"}} for n in range(300)]})
    if invocation.arguments.get("rows"):
        return json.dumps([{"id": n, "name": f"piece {n} of it"} for n in range(900)])
    return LONG if invocation.arguments.get("long") else '{"found": "a needle", "other": "straw"}'


TOOLS = Tools({("lab", "report"): report})


def model() -> WrittenModel:
    three = calls(("lab_report", '{"long": true}'), ("lab_report", "{}"), ("lab_report", '{"broken": true}'))
    return WrittenModel(say("No **hay** and some `Needle` code."), three, say("Two of them had a needle."), say("Bye."))


def reports(*kinds: str) -> Answer:
    """An answer that calls for a report of each kind."""
    return calls(*(("lab_report", f'{{"{kind}": true}}') for kind in kinds))


async def look_for(pilot: Pilot[Any], words: str) -> None:
    """Writes them into the bar in place of what stands there."""
    await pilot.press("ctrl+f")
    await until(pilot, lambda: pilot.app.focused is chat(pilot.app).query_one(FindBar).query_one(Input))
    await pilot.press("ctrl+a", "ctrl+k", *words)


async def talked(pilot: Pilot[Any], *prompts: str) -> None:
    """Says `prompts`, one after the other."""
    for number, prompt in enumerate(prompts, 1):
        await pilot.press(*prompt, "enter")
        turns = chat(pilot.app).ui.shown.transcript.turns
        await until(pilot, lambda n=number, t=turns: len([one for one in t if one.outcome]) == n)
    await at_rest(pilot)


def marked(pilot: Pilot[Any]) -> list[str]:
    """The text on screen that is marked as the match gone to."""
    width = chat(pilot.app).view.size.width
    return [
        segment.text
        for strip in painted(pilot.app)
        for segment in strip.crop(0, width)
        if segment.style is not None and segment.style.reverse and segment.style.bold and segment.text.strip()
    ]


async def test_matches_are_counted_marked_and_gone_to_forward_and_back(tmp_path: Path) -> None:
    async with app(tmp_path, model(), TOOLS).run_test(size=(80, 24)) as pilot:
        await talked(pilot, "hay", "look")
        await pilot.press("ctrl+f")
        await until(pilot, lambda: pilot.app.focused is chat(pilot.app).query_one(FindBar).query_one(Input))
        await pilot.press(*"needle")
        # An answer's code, a long result and a short one, and the last answer.
        await see(pilot, "of 4")
        bar = chat(pilot.app).find_bar
        await until(pilot, lambda: bar.finder.place > 0)
        for _ in range(4):
            at = bar.finder.place % 4 + 1
            await pilot.press("down")
            await see(pilot, f"{at} of 4")
            await until(pilot, lambda: marked(pilot) in (["Needle"], ["needle"]), f"a mark at {at}")
        await pilot.press("enter")
        await until(pilot, lambda: chat(pilot.app).view.has_focus)
        for key, place in (("n", at % 4 + 1), ("N", at)):
            await pilot.press(key)
            await see(pilot, f"{place} of 4")
        assert chat(pilot.app).prompt.text == ""


async def test_a_result_is_opened_as_far_as_its_match_and_folded_again_when_it_is_left(tmp_path: Path) -> None:
    async with app(tmp_path, model(), TOOLS).run_test(size=(80, 24)) as pilot:
        await talked(pilot, "hay", "look")
        await pilot.press(*"/find here is the needle", "enter")
        await see(pilot, "1 of 1")
        await see(pilot, "here is the needle")
        panels = [block for block in chat(pilot.app).view.blocks if isinstance(block, CallBlock)]
        assert [panel.open for panel in panels] == [True, False, False]
        await pilot.press("ctrl+a", "ctrl+k", *"straw")
        await until(pilot, lambda: [panel.open for panel in panels] == [False, True, False])
        await pilot.press("enter")
        await until(pilot, lambda: chat(pilot.app).view.has_focus)
        assert chat(pilot.app).view.cursor is panels[1]
        await pilot.press("escape")
        await until(pilot, lambda: chat(pilot.app).prompt.has_focus)
        assert not chat(pilot.app).find_bar.is_open
        assert [panel.open for panel in panels] == [False, True, False]
        assert chat(pilot.app).prompt.text == ""


async def test_nothing_found_says_so_and_what_comes_later_is_found_too(tmp_path: Path) -> None:
    async with app(tmp_path, model(), TOOLS).run_test(size=(80, 24)) as pilot:
        await talked(pilot, "hay")
        await pilot.press(*"ab", "ctrl+a", "ctrl+f", "X")
        await until(pilot, lambda: chat(pilot.app).prompt.text == "aXb")
        assert not chat(pilot.app).find_bar.is_open, "the key edits the line where something is written"
        chat(pilot.app).prompt.put("")
        await pilot.press(*"/find straw", "enter")
        await see(pilot, "nothing found")
        chat(pilot.app).console.conversation.send("look")
        await until(pilot, lambda: len([t for t in chat(pilot.app).ui.shown.transcript.turns if t.outcome]) == 2)
        await see(pilot, "0 of 1")
        await pilot.press("down")
        await see(pilot, "1 of 1")


async def test_alt_page_up_goes_from_turn_to_turn_and_alt_e_to_what_failed(tmp_path: Path) -> None:
    async with app(tmp_path, model(), TOOLS).run_test(size=(80, 15), notifications=True) as pilot:
        await talked(pilot, "hay", "look", "bye")
        view = chat(pilot.app).view
        prompts = [block for block in view.blocks if isinstance(block, UserBlock)]
        for prompt in reversed(prompts):
            await pilot.press("alt+pageup")
            await until(pilot, lambda block=prompt: view.cursor is block)
        assert view.first_visible == prompts[0].index
        await pilot.press("alt+pageup")
        await see(pilot, "There is no earlier turn.")
        await pilot.press("alt+pagedown")
        await until(pilot, lambda: view.cursor is prompts[1] and view.first_visible == prompts[1].index)
        await pilot.press("escape", "alt+e")
        await until(
            pilot, lambda: isinstance(view.cursor, CallBlock) and view.cursor.call.arguments == {"broken": True}
        )
        assert view.has_focus
        await pilot.press("alt+e")
        await see(pilot, "There is no earlier call that")


@pytest.mark.parametrize("size", [(80, 24)], ids=str)
def test_find_in_pictures(snap_compare: Any, tmp_path: Path, size: tuple[int, int]) -> None:
    async def run(pilot: Pilot[Any]) -> None:
        await talked(pilot, "hay", "look")
        await pilot.press(*"/find needle", "enter")
        await see(pilot, "of 4")
        await until(pilot, lambda: chat(pilot.app).find_bar.finder.place > 0)
        await pilot.press("enter", *("n" * ((2 - chat(pilot.app).find_bar.finder.place) % 4)))
        await see(pilot, "2 of 4")
        await at_rest(pilot)

    assert snap_compare(app(tmp_path, model(), TOOLS), terminal_size=size, run_before=run)


async def test_thousands_of_results_are_counted_in_slices(tmp_path: Path) -> None:
    async with app(tmp_path, model(), TOOLS).run_test(size=(80, 24)) as pilot:
        view = chat(pilot.app).view
        chat(pilot.app).ui.talking = True
        for number in range(3_000):
            view.add_block(AssistantBlock(f"answer {number} " + "straw " * 40, final=True))
        await at_rest(pilot)
        bar = chat(pilot.app).find_bar
        bar.open("answer 99")
        await see(pilot, "of 11")  # 99, 990 to 999
        bar.open("straw")
        await pilot.press("x")  # is written while it counts: "strawx" is nowhere
        await see(pilot, "nothing found")


async def test_what_a_count_that_is_given_up_was_at_is_counted_all_the_same(tmp_path: Path) -> None:
    async with app(tmp_path, model(), TOOLS).run_test(size=(80, 24)) as pilot:
        view = chat(pilot.app).view
        for number in range(1_000):
            view.add_block(AssistantBlock(f"straw {number}", final=True))
        await at_rest(pilot)
        finder = Finder(view)
        looking = asyncio.create_task(finder.look_for("straw"))
        await asyncio.sleep(0)
        beside = asyncio.create_task(finder.recount())  # as the bar does twice a second
        await asyncio.sleep(0)
        beside.cancel()
        await looking
        await finder.recount()
        assert finder.total == 1_000


async def test_enter_stays_at_a_match_that_is_far_down_in_a_panel(tmp_path: Path) -> None:
    async with app(tmp_path, model(), TOOLS).run_test(size=(80, 24)) as pilot:
        await talked(pilot, "hay", "look")
        await pilot.press("ctrl+f")
        await until(pilot, lambda: pilot.app.focused is chat(pilot.app).query_one(FindBar).query_one(Input))
        await pilot.press(*"line 60 of")
        await until(pilot, lambda: marked(pilot) == ["line 60 of"])
        await pilot.press("enter")
        await until(pilot, lambda: pilot.app.focused is chat(pilot.app).view)
        await at_rest(pilot)
        assert marked(pilot) == ["line 60 of"]


async def test_a_match_beyond_what_an_open_result_shows_is_gone_to(tmp_path: Path) -> None:
    """In many lines, in a long one, in Markdown, which is shown as it came, and in a tree, which is unfolded."""
    made = WrittenModel(reports("far", "wide", "markdown", "deep"), say("Read."))
    async with app(tmp_path, made, TOOLS).run_test(size=(80, 24)) as pilot:
        await talked(pilot, "look")
        panels = [block for block in chat(pilot.app).view.blocks if isinstance(block, CallBlock)]
        assert panels[2].detail.body.found.kind == "markdown"
        looks = {
            "the pin": "here is the pin",
            "the nail": "and the nail",
            "the tack": "A *paragraph* of `it`.",
            "part 250 of": '"name": "part 250 of it"',
        }
        for words, beside in looks.items():
            await look_for(pilot, words)
            await until(pilot, lambda words=words: marked(pilot) == [words], words)
            await see(pilot, beside)
            await see(pilot, "1 of 1")
            assert panels[2].detail.raw or words != "the tack"


async def test_going_to_a_far_match_lays_a_result_out_a_few_times(tmp_path: Path) -> None:
    """And not once for each page before it, which takes the square of them."""
    made = WrittenModel(calls(("lab_report", '{"far": true}')), say("Read."))
    async with app(tmp_path, made, TOOLS).run_test(size=(80, 24)) as pilot:
        await talked(pilot, "look")
        panel = next(block for block in chat(pilot.app).view.blocks if isinstance(block, CallBlock))
        panel.toggle()
        longer = 0
        while panel.unfold_match(1, 0, 0) and panel.detail.body.left:
            longer += 1
        assert longer < 5


async def test_a_result_is_found_in_as_what_it_is_though_most_matches_are_further_down(tmp_path: Path) -> None:
    """The first match is on the first page: that the others are not was taken for words that it leaves out."""
    made = WrittenModel(reports("rows", "deep"), say("Read."))
    async with app(tmp_path, made, TOOLS).run_test(size=(80, 24)) as pilot:
        await talked(pilot, "look")
        panels = [block for block in chat(pilot.app).view.blocks if isinstance(block, CallBlock)]
        looks = ("piece 25", "piece 259 of it"), ('"number": 7', '"number": 79')
        for panel, (words, last) in zip(panels, looks, strict=True):
            await look_for(pilot, words)
            await see(pilot, "1 of 11")
            await pilot.press("up")
            await see(pilot, "11 of 11")
            await see(pilot, last)
            assert not panel.detail.raw, words


class Measured(Tools):
    """Results whose structured content says more than their text."""

    async def call(self, invocation: Invocation, reporter: CallReporter) -> ToolResult:
        return (await super().call(invocation, reporter)).model_copy(
            update={"content": "A needle was looked for.", "structured": dict(invocation.arguments)}
        )


PARTS = [{"number": n, "of": {"name": f"part {n} of it"}} for n in range(300)]
ROWS = [{"number": n, "name": f"piece {n} of it", "place": "barn"} for n in range(900)]


async def test_what_stands_in_structured_content_beside_a_text_is_found(tmp_path: Path) -> None:
    """In a tree and in a table."""
    trees = {"parts": PARTS, "all": 300}, {"rows": ROWS}
    made = WrittenModel(calls(*(("lab_report", json.dumps(one)) for one in trees)), say("Read."))
    async with app(tmp_path, made, Measured({("lab", "report"): report})).run_test(size=(80, 24)) as pilot:
        await talked(pilot, "look")
        panels = [block for block in chat(pilot.app).view.blocks if isinstance(block, CallBlock)]
        for panel, what in zip(panels, ("part", "piece"), strict=True):
            await look_for(pilot, f"{what} 25")
            # Of the arguments only a beginning is shown; what came has 25 and 250 to 259.
            await see(pilot, "of 12")
            await pilot.press("up")
            await see(pilot, "12 of 12")
            await until(pilot, lambda what=what: marked(pilot) == [f"{what} 25"])
            await see(pilot, f"{what} 259 of it")
            assert panel.detail.body.found.text == "A needle was looked for."


async def test_a_name_that_a_table_shows_once_is_found_as_often_as_it_came(tmp_path: Path) -> None:
    made = WrittenModel(calls(("lab_report", json.dumps({"rows": ROWS[:3]}))), say("Read."))
    async with app(tmp_path, made, Measured({("lab", "report"): report})).run_test(size=(80, 24)) as pilot:
        await talked(pilot, "look")
        await pilot.press("ctrl+f")
        await until(pilot, lambda: pilot.app.focused is chat(pilot.app).query_one(FindBar).query_one(Input))
        await pilot.press(*"place")
        await see(pilot, "of 6")
        for at in (6, 5, 4):
            await pilot.press("up")
            await see(pilot, f"{at} of 6")
            await until(pilot, lambda: marked(pilot) == ["place"])


async def test_escape_gives_the_focus_back_to_the_conversation_that_find_was_opened_from(tmp_path: Path) -> None:
    async with app(tmp_path, model(), TOOLS).run_test(size=(80, 24)) as pilot:
        await talked(pilot, "hay", "look")
        screen = chat(pilot.app)
        await pilot.press("alt+2")
        await until(pilot, lambda: screen.view.has_focus and isinstance(screen.view.cursor, CallBlock))
        for keys in ("nowhere at all", "straw"):
            await pilot.press("ctrl+f", *keys)
            await until(pilot, lambda: not screen.view.has_focus and screen.find_bar.is_open)
            await pilot.press("escape")
            await until(pilot, lambda: screen.view.has_focus and not screen.find_bar.is_open)
            assert screen.view.cursor is not None
        await pilot.press("escape")
        await until(pilot, lambda: screen.prompt.has_focus)
