"""Keys in the prompt write, send, look up earlier prompts, and do nothing that was not meant."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from textual import events
from textual.app import App, ComposeResult

from console_app.tui.app import FanoutApp
from console_app.tui.lineview import CallBlock
from console_app.tui.main_screen.start.welcome import DEMO, WITH_ANY
from console_app.tui.prompt.completion import Completion, Completions, Token
from console_app.tui.prompt.prompt import Pastes, Prompt
from console_app.tui.prompt.prompt_box import Later, PromptBox
from console_app.tui.terminal import key_order
from tests.each import each
from tests.patience import PATIENCE
from tests.tui.parts import Server, Tools, WrittenModel, app, calls, chat, echo, say, see, until


async def test_enter_sends_and_the_answer_comes(tmp_path: Path) -> None:
    model = WrittenModel(say("Good morning."))
    async with app(tmp_path, model).run_test(size=(100, 30)) as pilot:
        await pilot.press(*"hello", "enter")
        await see(pilot, "Good morning.")
        assert [m.content for m in model.requests[0].messages] == ["hello"]
        assert chat(pilot.app).prompt.text == ""


async def test_a_new_line_is_written_and_nothing_sent(tmp_path: Path) -> None:
    async with app(tmp_path).run_test(size=(100, 30)) as pilot:
        for keys in (["shift+enter"], ["ctrl+j"], ["alt+enter"], ["backslash", "enter"]):
            await pilot.press("a", *keys, "b")
            assert chat(pilot.app).prompt.text == "a\nb", keys
            chat(pilot.app).prompt.put("")


async def test_up_goes_on_past_prompts_whose_end_could_be_completed(tmp_path: Path) -> None:
    (tmp_path / "shot.txt").write_text("x")
    (tmp_path / "history").write_text('"the first"\n"/export md"\n"see @shot.txt"\n')
    async with app(tmp_path).run_test(size=(100, 30)) as pilot:
        prompt = chat(pilot.app).prompt
        for text in ("see @shot.txt", "/export md", "the first"):
            await pilot.press("up")
            await until(pilot, lambda text=text: prompt.text == text)
            assert not prompt.completing
        await pilot.press("down")
        assert prompt.text == "/export md"
        await pilot.press("backspace")
        await until(pilot, lambda: prompt.completing)


async def test_the_prompt_grows_to_a_third_of_the_screen(tmp_path: Path) -> None:
    async with app(tmp_path).run_test(size=(100, 30)) as pilot:
        prompt = chat(pilot.app).prompt
        low = prompt.outer_size.height
        await pilot.press(*["ctrl+j"] * 12)
        await pilot.pause()
        assert low == 3
        assert 8 <= prompt.outer_size.height <= 10


async def test_line_editing_keys_stay(tmp_path: Path) -> None:
    async with app(tmp_path).run_test(size=(100, 30)) as pilot:
        prompt = chat(pilot.app).prompt
        await pilot.press(*"one two", "ctrl+a", "X", "ctrl+e", "Y", "ctrl+b", "Z", "ctrl+f")
        assert prompt.text == "Xone twoZY"
        await pilot.press("ctrl+w")
        assert prompt.text == "Xone "
        await pilot.press("ctrl+u")
        assert prompt.text == ""
        await pilot.press(*"abc", "ctrl+a", "ctrl+k")
        assert prompt.text == ""


async def test_up_brings_back_what_was_sent_and_down_what_was_being_written(tmp_path: Path) -> None:
    async with app(tmp_path).run_test(size=(100, 30)) as pilot:
        prompt = chat(pilot.app).prompt
        for text in ("first", "second"):
            await pilot.press(*text, "enter")
            await until(pilot, lambda: not chat(pilot.app).console.conversation.busy)
        await pilot.press("d", "up")
        assert prompt.text == "second"
        await pilot.press("up")
        assert prompt.text == "first"
        await pilot.press("up", "down")
        assert prompt.text == "second"
        await pilot.press("down")
        assert prompt.text == "d"


async def test_prompts_are_kept_for_the_next_session(tmp_path: Path) -> None:
    async with app(tmp_path).run_test() as pilot:
        await pilot.press("a", "ctrl+j", "b", "enter")
    async with app(tmp_path).run_test() as pilot:
        await pilot.press("up")
        assert chat(pilot.app).prompt.text == "a\nb"
    assert (tmp_path / "history").stat().st_mode & 0o777 == 0o600


async def test_ctrl_r_finds_an_older_prompt(tmp_path: Path) -> None:
    (tmp_path / "history").write_text('"the weather in Oslo"\n"what is 2+2"\nbroken line\n')
    async with app(tmp_path).run_test(size=(100, 30)) as pilot:
        await pilot.press("ctrl+r")
        await see(pilot, "the weather in Oslo")
        await pilot.press(*"weath", "enter")
        await until(pilot, lambda: chat(pilot.app).prompt.text == "the weather in Oslo")


async def test_a_long_paste_is_a_placeholder_that_is_written_out_when_sent(tmp_path: Path) -> None:
    model = WrittenModel()
    pasted = "\n".join(f"line {n}" for n in range(120))
    async with app(tmp_path, model).run_test(size=(100, 30)) as pilot:
        await pilot.press(*"see ")
        pilot.app.post_message(events.Paste(pasted))
        await until(pilot, lambda: "Pasted" in chat(pilot.app).prompt.text)
        assert chat(pilot.app).prompt.text == "see [Pasted 120 lines]"
        await pilot.press("enter")
        await until(pilot, lambda: bool(model.requests))
        assert model.requests[0].messages[0].content == f"see {pasted}"


async def test_five_megabytes_are_pasted_without_a_pause_and_control_characters_as_marks(tmp_path: Path) -> None:
    async with app(tmp_path).run_test(size=(100, 30)) as pilot:
        pilot.app.post_message(events.Paste("a\x1b]52;c;eA==\x07b\r\nc"))
        await until(pilot, lambda: bool(chat(pilot.app).prompt.text))
        assert chat(pilot.app).prompt.text == "a␛]52;c;eA==␇b\nc"
        chat(pilot.app).prompt.put("")
        before = time.process_time()  # of this process alone, however busy the machine
        pilot.app.post_message(events.Paste("x" * 5_000_000))
        await until(pilot, lambda: "Pasted" in chat(pilot.app).prompt.text)
        assert time.process_time() - before < 5
        assert chat(pilot.app).prompt.text == "[Pasted 5,000,000 characters]"


def test_two_pastes_of_one_size_are_told_apart() -> None:
    pastes = Pastes()
    one, other = "\n".join("a" * 20), "\n".join("b" * 20)
    text = f"{pastes.take(one)} {pastes.take(other)} {pastes.take(one)}"
    assert text == "[Pasted 20 lines] [Pasted 20 lines #2] [Pasted 20 lines]"
    assert pastes.expand(text) == f"{one} {other} {one}"


async def test_ctrl_c_clears_then_quits(tmp_path: Path) -> None:
    console = app(tmp_path)
    async with console.run_test(size=(100, 30)) as pilot:
        await pilot.press(*"draft", "ctrl+c")
        assert chat(console).prompt.text == ""
        await pilot.press("ctrl+c")
        await until(pilot, lambda: console.return_value is not None)
    assert console.return_value == 0


async def test_ctrl_c_once_only_says_how_to_quit(tmp_path: Path) -> None:
    async with app(tmp_path).run_test(size=(100, 30), notifications=True) as pilot:
        await pilot.press("ctrl+c")
        await see(pilot, "Press Ctrl+C again to quit.")


async def test_ctrl_d_quits_on_an_empty_prompt_only(tmp_path: Path) -> None:
    console = app(tmp_path)
    async with console.run_test(size=(100, 30)) as pilot:
        await pilot.press(*"ab", "left", "ctrl+d")
        assert chat(console).prompt.text == "a"
        await pilot.press("ctrl+u", "ctrl+d")
        await until(pilot, lambda: console.return_value is not None)
    assert console.return_value == 0


async def test_question_mark_helps_on_an_empty_prompt_and_is_written_otherwise(tmp_path: Path) -> None:
    async with app(tmp_path).run_test(size=(100, 40)) as pilot:
        await pilot.press("a", "question_mark")
        assert chat(pilot.app).prompt.text == "a?"
        await pilot.press("ctrl+u", "question_mark")
        await see(pilot, "this card")
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is chat(pilot.app))
        assert chat(pilot.app).prompt.text == ""


async def test_keys_reach_the_prompt_wherever_the_opening_page_was_pressed(tmp_path: Path) -> None:
    async with app(tmp_path).run_test(size=(80, 24)) as pilot:
        prompt = chat(pilot.app).prompt
        for place in [(0, 0), (40, 0), (2, 1), (70, 3), (79, 16), (0, 19), (5, 21), (79, 23)]:
            await pilot.mouse_down(offset=place)
            await pilot.hover(offset=(place[0] // 2, 12))
            await pilot.press("k")
            assert prompt.text == "k", place
            prompt.put("")


async def test_ctrl_d_quits_wherever_the_focus_is_when_nothing_is_written(tmp_path: Path) -> None:
    console = app(tmp_path, WrittenModel(say("Hello.")))
    async with console.run_test(size=(100, 30)) as pilot:
        await pilot.press(*"go", "enter")
        await see(pilot, "Hello.")
        await pilot.press("a", "tab")
        await until(pilot, lambda: chat(console).view.has_focus)
        await pilot.press("ctrl+d")
        assert console.return_code is None
        await pilot.press("escape", "ctrl+u", "tab")
        await until(pilot, lambda: chat(console).view.has_focus)
        await pilot.press("ctrl+d")
        await until(pilot, lambda: console.return_code == 0)


async def test_keys_follow_the_configuration(tmp_path: Path) -> None:
    console: FanoutApp = app(tmp_path, keymap={"prompt.send": "ctrl+t", "chat.help": "f2"})
    async with console.run_test(size=(100, 40)) as pilot:
        await pilot.press("a", "enter", "b")
        assert chat(console).prompt.text == "a\nb"
        await pilot.press("ctrl+t")
        await until(pilot, lambda: chat(console).prompt.text == "")
        await pilot.press("f2")
        await see(pilot, "this card")
        await see(pilot, "ctrl+t")


async def test_a_prompt_of_no_width_shows_nothing(tmp_path: Path) -> None:
    """As it is for a moment while a window is made small."""

    class Narrow(App[None]):
        CSS = "Prompt { width: 2; border: round red; }"

        def compose(self) -> ComposeResult:
            yield Prompt(tmp_path / "history")

    async with Narrow().run_test(size=(10, 5)) as pilot:
        await pilot.press("a")
        await pilot.press("backspace")
        assert pilot.app.query_one(Prompt).content_size.width == 0


class Writing(App[None]):
    """A prompt in a folder, beside servers, and nothing else."""

    def __init__(self, folder: Path, servers: Later) -> None:
        super().__init__()
        self._folder, self._servers = folder, servers

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return {"muted": "#808080"}

    def compose(self) -> ComposeResult:
        yield PromptBox(self._folder / "history", self._folder, lambda _: (), self._servers)


@each(
    ("before", "now", "may_be"),
    [
        ("read a @rep", "read @rep", ["read @rep", "read @report.md "]),
        ("read @", "read @rep", ["read @report.md "]),
    ],
    ids=["elsewhere", "typed on"],
)
async def test_what_was_found_for_another_text_completes_nothing(
    tmp_path: Path, before: str, now: str, may_be: list[str]
) -> None:
    """As when the text of a prompt that was refused comes back while the list for it is still open."""
    for name in ("notes.md", "report.md"):
        (tmp_path / name).touch()
    looking = asyncio.Event()

    async def servers(token: Token) -> AsyncIterator[Completions]:
        if box.prompt.text == now:
            looking.set()
            await asyncio.Event().wait()
        yield Completions()

    async with Writing(tmp_path, servers).run_test(size=(60, 20)) as pilot:
        box = pilot.app.query_one(PromptBox)
        box.prompt.focus()
        box.prompt.put(before)
        await until(pilot, lambda: box.popup.is_open)
        box.prompt.put(now)
        await looking.wait()
        await pilot.press("tab")
        assert box.prompt.text in may_be


async def test_what_you_moved_to_stays_chosen_while_servers_answer(tmp_path: Path) -> None:
    for name in ("notes.md", "report.md"):
        (tmp_path / name).touch()
    answered = asyncio.Event()
    first, last = Completion("notes:", "@notes:"), Completion("reports:", "@reports:")

    async def servers(token: Token) -> AsyncIterator[Completions]:
        yield Completions([first])
        if token.query == "not":
            await answered.wait()
            yield Completions([first, last])

    async with Writing(tmp_path, servers).run_test(size=(60, 20)) as pilot:
        box = pilot.app.query_one(PromptBox)
        box.prompt.focus()
        box.prompt.put("see @not")
        await until(pilot, lambda: [one.label for one in box.popup.completions] == ["notes.md", "notes:"])
        await pilot.press("down")
        assert box.popup.chosen == first
        answered.set()
        await until(pilot, lambda: last in box.popup.completions)
        assert box.popup.chosen == first
        await pilot.press("e")
        await until(pilot, lambda: last not in box.popup.completions)
        assert box.popup.highlighted == 0, "other text: what fits it best"


async def test_what_you_moved_to_stays_while_a_server_is_asked_again_and_has_nothing_yet(tmp_path: Path) -> None:
    asked, answered = asyncio.Event(), asyncio.Event()
    python, prolog = Completion("python", "python "), Completion("prolog", "prolog ")

    async def servers(token: Token) -> AsyncIterator[Completions]:
        if token.query == "pr":
            yield Completions([], "language", more=True)
            asked.set()
            await answered.wait()
            yield Completions([], "language")
        else:
            yield Completions([python, prolog], "language")

    async with Writing(tmp_path, servers).run_test(size=(60, 20)) as pilot:
        box = pilot.app.query_one(PromptBox)
        box.prompt.focus()
        box.prompt.put("/notes:review p")
        await until(pilot, lambda: len(box.popup.completions) == 2)
        await pilot.press("down", "down")
        assert box.popup.chosen == prolog
        await pilot.press("r")
        await asked.wait()
        await pilot.pause()
        assert box.popup.chosen == prolog, "what still fits stays, chosen, until the rest is known"
        answered.set()
        await until(pilot, lambda: not box.popup.is_open)


async def test_a_letter_is_painted_without_waiting_for_the_next_frame(tmp_path: Path) -> None:
    console = app(tmp_path)
    async with console.run_test(size=(100, 30)) as pilot:
        await see(pilot, "Ask, or / for commands")
        screen = chat(console)
        painted = asyncio.Event()
        update = screen._on_timer_update  # pyright: ignore[reportPrivateUsage]
        screen._update_timer.stop()  # pyright: ignore[reportPrivateUsage] # from here on no frame comes by itself

        def noted() -> None:
            update()
            if screen.prompt.text == "a":
                painted.set()

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(screen, "_on_timer_update", noted)
            console.post_message(events.Key("a", "a"))
            async with asyncio.timeout(PATIENCE):
                await painted.wait()  # not `until`, which paints what is owed


async def test_frames_give_way_to_a_letter_that_was_read_until_it_is_painted(tmp_path: Path) -> None:
    console = app(tmp_path)
    async with console.run_test(size=(100, 30)) as pilot:
        await see(pilot, "Ask, or / for commands")
        screen, frames = chat(console), list[str]()

        def note(*_: object) -> None:
            frames.append(screen.prompt.text)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(key_order, "FIRST", 1000.0)
            console.typed_at = time.monotonic()
            patch.setattr(screen, "frame_took", note)
            screen.prompt.refresh()
            screen._on_timer_update()  # pyright: ignore[reportPrivateUsage]
            assert frames == [], "it waits"
            console.post_message(events.Key("a", "a"))
            await until(pilot, lambda: bool(frames))
            assert frames[0] == "a"
            assert not screen.gives_way()
            screen.set_focus(None)
            console.typed_at = time.monotonic()
            assert not screen.gives_way(), "it is not for the prompt"


@each("offline", [True, False])
async def test_enter_on_the_opening_page_sends_an_example_or_writes_one_where_that_would_cost(
    tmp_path: Path, offline: bool
) -> None:
    model = WrittenModel()
    model.name = "offline" if offline else "lab"
    servers, example = [Server("calculator"), Server("demo")], DEMO if offline else WITH_ANY
    async with app(tmp_path, model, server_statuses=lambda: servers).run_test(size=(100, 30)) as pilot:
        screen = chat(pilot.app)
        await until(pilot, lambda: screen.welcome.example is example)
        await pilot.press("enter")
        if not offline:
            await until(pilot, lambda: screen.prompt.text == example.text)
            assert model.requests == []
            await pilot.press("enter")
        await until(pilot, lambda: bool(model.requests))
        assert model.requests[0].messages[-1].content == example.text


async def test_up_in_an_empty_prompt_walks_into_the_calls_and_down_comes_back(tmp_path: Path) -> None:
    model = WrittenModel(calls(("lab_echo", '{"n": 1}'), ("lab_echo", '{"n": 2}')), say("Done."))
    async with app(tmp_path, model, Tools({("lab", "echo"): echo})).run_test(size=(80, 24)) as pilot:
        screen = chat(pilot.app)
        await pilot.press(*"go", "enter")
        await see(pilot, "Done.")
        await until(pilot, lambda: not screen.console.conversation.busy)

        def at() -> object:
            block = screen.view.cursor
            return block.call.arguments if isinstance(block, CallBlock) and screen.view.has_focus else None

        await pilot.press("up")
        await until(pilot, lambda: at() == {"n": 2})
        await pilot.press("up")
        await until(pilot, lambda: at() == {"n": 1})
        for _ in range(9):
            if screen.prompt.has_focus:
                break
            await pilot.press("down")
            await pilot.pause()
        assert screen.prompt.has_focus
        await pilot.press(*"ab", "left", "up")
        assert screen.prompt.has_focus, "only an empty prompt is left by it"
