"""Copying a message, a code block, a table, a result and arguments alone; what was copied, and how much, is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from console_app.console.reports.copies import as_csv, copies_of_answer
from console_app.domain.ports import CallReporter, Invocation
from console_app.tui.lineview import AssistantBlock, UserBlock
from tests.each import each
from tests.tui.parts import Tools, WrittenModel, app, at_rest, calls, chat, decide, say, see, seen, until

ANSWER = """Two ways:

```python
print("one")
print("two")
```

or

```sh
echo one
```

| name | size |
|------|-----:|
| `a, b` | 1 |
| c "d" | 2 |
"""


async def people(_invocation: Invocation, _reporter: CallReporter) -> str:
    return '[{"name": "Ann", "age": 41}, {"name": "Bo", "age": 7}]'


async def page(_invocation: Invocation, _reporter: CallReporter) -> str:
    return f"# Page\n\n{ANSWER}"


def console(folder: Path) -> Any:
    model = WrittenModel(say(ANSWER), calls(("lab_people", '{"of": "Oslo"}')), say("These two."))
    return app(folder, model, Tools({("lab", "people"): people}))


async def said(pilot: Pilot[Any], *prompts: str) -> None:
    for number, prompt in enumerate(prompts, 1):
        await pilot.press(*prompt, "enter")
        turns = chat(pilot.app).ui.shown.transcript.turns
        await until(pilot, lambda n=number, t=turns: len([one for one in t if one.outcome]) == n)
    await at_rest(pilot)


def test_the_parts_of_an_answer() -> None:
    parts = {copy.what: copy.text for copy in copies_of_answer(ANSWER)}
    assert list(parts) == ["answer", "code 1", "code 2", "table 1 as CSV"]
    assert parts["answer"] == ANSWER
    assert parts["code 1"] == 'print("one")\nprint("two")'
    assert parts["table 1 as CSV"] == 'name,size\n"a, b",1\n"c ""d""",2\n'
    assert as_csv([["a\nb", ""]]) == '"a\nb",\n'


async def test_an_answer_without_parts_is_copied_at_once(tmp_path: Path) -> None:
    async with app(tmp_path, WrittenModel(say("Just words."))).run_test(size=(80, 24), notifications=True) as pilot:
        await pilot.press(*"/copy", "enter")
        await see(pilot, "There is no answer to copy yet.")
        await said(pilot, "hello")
        await pilot.press(*"/copy", "enter")
        await see(pilot, "Copied answer: 11 characters.")
        assert pilot.app.clipboard == "Just words."


async def test_a_code_block_is_picked_of_several_the_second_time_too_and_found_by_what_its_row_says(
    tmp_path: Path,
) -> None:
    async with console(tmp_path).run_test(size=(80, 24), notifications=True) as pilot:
        await said(pilot, "how")
        await pilot.press(*"/copy", "enter")
        await see(pilot, "python · 2 lines")
        await pilot.press("down", "enter")
        await see(pilot, "Copied code 1: 2 lines")
        assert pilot.app.clipboard == 'print("one")\nprint("two")'
        await pilot.press(*"/copy", "enter")
        await see(pilot, "sh · 1 line")
        await pilot.press(*"csv", "enter")
        await until(pilot, lambda: pilot.app.clipboard.startswith("name,size\n"))
        await see(pilot, "Copied table 1 as CSV: 3 lines,")
        await pilot.press(*"/copy code 2", "enter")
        await until(pilot, lambda: pilot.app.clipboard == "echo one")
        await pilot.press(*"/copy picture", "enter")
        await see(pilot, "There is no picture to copy.")
        await pilot.press(*"/copy", "enter")
        await see(pilot, "type to search")
        await pilot.press(*"zebra")
        await see(pilot, "No match")
        await pilot.press("enter", "ctrl+u", *"python")
        await until(pilot, lambda: "No match" not in seen(pilot.app) and "sh · 1 line" not in seen(pilot.app))
        await pilot.press("enter")
        await until(pilot, lambda: pilot.app.clipboard == 'print("one")\nprint("two")')


async def test_a_result_its_table_and_its_arguments_and_the_message_of_a_turn_that_was_gone_to(tmp_path: Path) -> None:
    async with console(tmp_path).run_test(size=(80, 24), notifications=True) as pilot:
        await said(pilot, "how", "who")
        await pilot.press("alt+1")
        await until(pilot, lambda: chat(pilot.app).view.cursor is not None)
        await decide(pilot, "c")
        await until(pilot, lambda: pilot.app.clipboard.startswith("[{"))
        await see(pilot, "Copied result of people:")
        await decide(pilot, "C")
        await see(pilot, "2 rows × 2 columns")
        await pilot.press(*"csv", "enter")
        await until(pilot, lambda: pilot.app.clipboard == "name,age\nAnn,41\nBo,7\n")
        await decide(pilot, "C")
        await see(pilot, "arguments of people")
        await pilot.press(*"argum", "enter")
        await until(pilot, lambda: pilot.app.clipboard == '{\n  "of": "Oslo"\n}')
        assert chat(pilot.app).prompt.text == ""
        view = chat(pilot.app).view
        for words in ("who", "how"):
            await pilot.press("alt+pageup")
            await until(pilot, lambda w=words: isinstance(view.cursor, UserBlock) and view.cursor.text == w)
            await decide(pilot, "c")
            await until(pilot, lambda w=words: pilot.app.clipboard == w)
        await pilot.press("alt+pagedown")
        await until(pilot, lambda: isinstance(view.cursor, UserBlock) and view.cursor.text == "who")


async def test_the_code_and_tables_of_a_result_in_markdown(tmp_path: Path) -> None:
    model = WrittenModel(calls(("lab_page", "{}")), say("Read."))
    async with app(tmp_path, model, Tools({("lab", "page"): page})).run_test(size=(100, 30)) as pilot:
        await said(pilot, "go")
        await pilot.press("alt+1")
        await decide(pilot, "C")
        await see(pilot, "table 1 as CSV")
        await pilot.press(*"code 2", "enter")
        await until(pilot, lambda: pilot.app.clipboard == "echo one")


async def test_a_message_that_was_clicked_is_copied_with_c_and_what_the_mouse_selects_with_ctrl_c(
    tmp_path: Path,
) -> None:
    async with console(tmp_path).run_test(size=(80, 40), notifications=True) as pilot:
        await said(pilot, "how")
        view = chat(pilot.app).view
        row = next(n for n, line in enumerate(seen(pilot.app).split("\n")) if "Two ways" in line)
        await pilot.click(view, offset=(10, row - view.region.y))
        await until(pilot, lambda: isinstance(view.cursor, AssistantBlock))
        await pilot.press("c")
        await until(pilot, lambda: pilot.app.clipboard == ANSWER)
        await pilot.press("C")
        await see(pilot, "code 2")
        await pilot.press("enter")  # all of it is what `c` copies: the list begins with the first part
        await until(pilot, lambda: pilot.app.clipboard == 'print("one")\nprint("two")')
        await at_rest(pilot)
        row = next(n for n, line in enumerate(seen(pilot.app).split("\n")) if "Two ways" in line) - view.region.y
        await pilot.mouse_down(view, offset=(3, row))
        await pilot.hover(view, offset=(6, row))
        await pilot.hover(view, offset=(11, row))
        await pilot.mouse_up(view, offset=(11, row))
        await see(pilot, "characters selected")
        await pilot.press("ctrl+c")
        await until(pilot, lambda: pilot.app.clipboard.startswith("Two way"))
        assert pilot.app.clipboard in "Two ways:"


@each("turns", [1, 2, 250])
async def test_every_message_is_reached_and_copied_by_key(tmp_path: Path, turns: int) -> None:
    said_of = [(f"question {number}", f"Answer {number}.") for number in range(turns)]
    async with app(tmp_path, WrittenModel()).run_test(size=(80, 24), notifications=True) as pilot:
        view = chat(pilot.app).view
        chat(pilot.app).ui.talking = True
        for question, answer in said_of:
            view.add_block(UserBlock(question))
            view.add_block(AssistantBlock(answer, final=True))
        texts = [text for one in said_of for text in one]
        for text in reversed(texts[-4:]):  # from the prompt up, one after the other
            await pilot.press("alt+up")
            await decide(pilot, "c")
            await until(pilot, lambda text=text: pilot.app.clipboard == text)
            pilot.app.clear_notifications()  # they stand over the newest lines
            await see(pilot, text)
            assert "c copy" in seen(pilot.app).splitlines()[-1]
        await pilot.press("escape", "h")
        assert chat(pilot.app).prompt.text == "h"
        for question, _ in reversed(said_of[-4:]):  # and turn by turn
            await pilot.press("alt+pageup")
            await decide(pilot, "c")
            await until(pilot, lambda text=question: pilot.app.clipboard == text)
            pilot.app.clear_notifications()
            await see(pilot, question)
        await decide(pilot, "x", "h")
        assert chat(pilot.app).prompt.text == "h", "letters are the message's"


@pytest.mark.parametrize("size", [(80, 24)], ids=str)
def test_copy_in_pictures(snap_compare: Any, tmp_path: Path, size: tuple[int, int]) -> None:
    async def run(pilot: Pilot[Any]) -> None:
        await said(pilot, "how", "who")
        await pilot.press("alt+1")
        await until(pilot, lambda: chat(pilot.app).view.cursor is not None)
        await decide(pilot, "C")
        await see(pilot, "arguments of people")

    assert snap_compare(console(tmp_path), terminal_size=size, run_before=run)


async def test_a_list_that_came_in_blocks_of_its_own_is_copied_as_csv(tmp_path: Path) -> None:
    async def rows(_invocation: Invocation, _reporter: CallReporter) -> str:
        return '{\n  "name": "Ann",\n  "age": 41\n}\n{\n  "name": "Bo",\n  "age": 7\n}'

    model = WrittenModel(calls(("lab_people", "{}")), say("These two."))
    async with app(tmp_path, model, Tools({("lab", "people"): rows})).run_test(size=(80, 24)) as pilot:
        await said(pilot, "who")
        await pilot.press("alt+1")
        await decide(pilot, "C")
        await see(pilot, "2 rows × 2 columns")
        await pilot.press(*"csv", "enter")
        await until(pilot, lambda: pilot.app.clipboard == "name,age\nAnn,41\nBo,7\n")
