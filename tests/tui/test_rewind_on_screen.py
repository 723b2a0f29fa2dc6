"""/rewind and Esc Esc: your messages are listed, the one you pick comes back into the prompt, the second time too."""

from __future__ import annotations

from pathlib import Path

from tests.tui.parts import Tools, WrittenModel, app, at_rest, calls, chat, echo, pass_by, say, see, seen, until


async def test_escape_twice_in_an_empty_prompt_rewinds_the_second_time_too(tmp_path: Path) -> None:
    model = WrittenModel(say("One."), calls(("lab_echo", '{"n": 1}')), say("Two."), say("Three."))
    tools = Tools({("lab", "echo"): echo}, read_only=False)
    async with app(tmp_path, model, tools).run_test(size=(80, 24), notifications=True) as pilot:
        screen = chat(pilot.app)
        screen.services.engine.gate.mode = type(screen.services.engine.gate.mode).YOLO
        for number, prompt in enumerate(("first", "second", "third"), 1):
            await pilot.press(*prompt, "enter")
            await until(pilot, lambda n=number: len([t for t in screen.ui.shown.transcript.turns if t.outcome]) == n)
        await at_rest(pilot)
        await pilot.press("escape")
        await see(pilot, "Press Esc again")
        await pass_by(pilot, 5)
        await pilot.press("escape")  # too late to be the second
        await until(pilot, lambda: pilot.app.screen is screen)
        await pilot.press("escape")
        await see(pilot, "Rewind to before")
        await until(pilot, lambda: "Press Esc again" not in seen(pilot.app))
        assert "undoes 2 turns · 1 call not undone" in seen(pilot.app)
        await pilot.press("down", "enter")
        await until(pilot, lambda: screen.prompt.text == "second")
        await see(pilot, "Not undone, as these calls may have changed something:")
        assert "- lab" in seen(pilot.app)
        assert "n: 1" in seen(pilot.app)
        assert [turn.prompt for turn in screen.ui.shown.transcript.turns] == ["first"]
        await pilot.press("escape", "escape")  # something is written: nothing is rewound
        await until(pilot, lambda: pilot.app.screen is screen)
        await pilot.press("ctrl+c")
        await until(pilot, lambda: not screen.prompt.text)
        await pilot.press("escape", "escape")
        await see(pilot, "Rewind to before")
        await pilot.press("enter")
        await until(pilot, lambda: screen.prompt.text == "first")
        assert screen.ui.shown.transcript.turns == []


async def test_the_toast_of_a_rewind_hides_no_more_than_its_own_words_and_leaves_nothing_behind(tmp_path: Path) -> None:
    """The end of the turn before stands left of it, and below it once it went."""
    model = WrittenModel(*[say("\n\n".join(f"{n} of {word}" for n in range(12))) for word in ("one", "two")])
    async with app(tmp_path, model, Tools({})).run_test(size=(80, 24), notifications=True) as pilot:
        screen = chat(pilot.app)
        for number, prompt in enumerate(("first", "second"), 1):
            await pilot.press(*prompt, "enter")
            await until(pilot, lambda n=number: len([t for t in screen.ui.shown.transcript.turns if t.outcome]) == n)
        await at_rest(pilot)
        await pilot.press("escape", "escape")
        await see(pilot, "Rewind to before")
        await pilot.press("enter")
        await see(pilot, "The last turn is undone")
        await until(pilot, lambda: pilot.app.screen is screen)
        await see(pilot, "✓ done")
