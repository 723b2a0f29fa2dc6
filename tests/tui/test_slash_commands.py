"""Slash commands: completed as you type, in the palette, in help, and what each does."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from textual.widgets import Static

from console_app.console.intents.table import parse
from console_app.domain.approvals import CallPolicy
from console_app.domain.safe_text import one_line
from console_app.domain.settings import Effort
from console_app.tui.main_screen.over.help import KeySection, help_lines
from console_app.tui.prompt.prompt_box import CompletionPopup
from tests.each import each
from tests.examples import spread
from tests.tui.parts import Server, WrittenModel, app, chat, enter, say, see, seen, until


def test_a_path_is_no_command() -> None:
    assert parse("/etc/hosts what is this?") is None
    assert parse("/theme fjord") == ("theme", "fjord")
    assert parse(" /HELP ") == ("help", "")


async def test_commands_are_completed_as_you_type(tmp_path: Path) -> None:
    async with app(tmp_path).run_test(size=(100, 40)) as pilot:
        popup = chat(pilot.app).query_one(CompletionPopup)
        await pilot.press("slash")
        await until(pilot, lambda: popup.is_open)
        await see(pilot, "choose the model that answers")
        await pilot.press(*"plcy")
        await until(pilot, lambda: popup.chosen is not None and popup.chosen.label == "/policy")
        await pilot.press("tab")
        await until(pilot, lambda: chat(pilot.app).prompt.text == "/policy ")
        await see(pilot, "sequential")
        await pilot.press(*"seq", "enter")
        await until(pilot, lambda: chat(pilot.app).services.engine.settings.policy is CallPolicy.SEQUENTIAL)
        await see(pilot, "auto   sequential")


async def test_escape_closes_the_list_and_nothing_else(tmp_path: Path) -> None:
    async with app(tmp_path).run_test(size=(100, 40)) as pilot:
        popup = chat(pilot.app).query_one(CompletionPopup)
        await pilot.press("slash", "m")
        await until(pilot, lambda: popup.is_open)
        await pilot.press("escape")
        await until(pilot, lambda: not popup.is_open)
        assert chat(pilot.app).prompt.text == "/m"
        await pilot.press("o")
        await until(pilot, lambda: popup.is_open)


async def test_files_are_completed_behind_an_at_sign(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "architecture.md").write_text("x")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "architecture.bad").write_text("x")
    async with app(tmp_path).run_test(size=(100, 40)) as pilot:
        popup = chat(pilot.app).query_one(CompletionPopup)
        await pilot.press(*"read @arch")
        await until(pilot, lambda: popup.is_open)
        assert popup.option_count == 1
        await pilot.press("enter")
        await until(pilot, lambda: chat(pilot.app).prompt.text == "read @docs/architecture.md ")


async def test_an_unknown_command_says_what_was_meant_and_stays(tmp_path: Path) -> None:
    async with app(tmp_path).run_test(size=(100, 40), notifications=True) as pilot:
        await enter(pilot, "/thme x")
        await see(pilot, "There is no command /thme.")
        assert chat(pilot.app).prompt.text == "/thme x"


class Thinking(WrittenModel):
    """Its endpoint has refused the highest effort."""

    def effort_for(self, asked: Effort | None) -> str:
        return "" if asked == "max" else asked or ""


async def test_an_effort_that_the_model_does_not_take_is_said_to_be_for_others(tmp_path: Path) -> None:
    async with app(tmp_path, Thinking()).run_test(size=(80, 24), notifications=True) as pilot:
        await enter(pilot, "/effort max")
        await see(pilot, "Effort: max, for models that take it: test-model doesn't.")
        assert chat(pilot.app).console.conversation.engine.settings.effort == "max", "another model may take it"
        await enter(pilot, "/effort ")
        await see(pilot, "more than high, where supported")
        await see(pilot, "max      not taken by test-model")


async def test_the_effort_is_set_by_name_and_picked_from_a_list(tmp_path: Path) -> None:
    async with app(tmp_path).run_test(size=(100, 40), notifications=True) as pilot:
        settings = chat(pilot.app).console.conversation.engine
        await enter(pilot, "/effort high")
        await see(pilot, "Effort: high, from the next answer on.")
        assert settings.settings.effort == "high"
        await enter(pilot, "/effort some")
        await see(pilot, "There is no effort some.")
        await enter(pilot, "/effort ")
        await see(pilot, "as much as possible")
        await pilot.press(*"default", "enter")
        await until(pilot, lambda: settings.settings.effort is None)


async def test_the_palette_holds_the_same_commands(tmp_path: Path) -> None:
    async with app(tmp_path).run_test(size=(100, 40)) as pilot:
        await pilot.press("ctrl+p")
        await see(pilot, "/help")
        assert seen(pilot.app).count("/help") == 1, "no command twice"
        assert "f1 · keys and commands" in seen(pilot.app)
        await pilot.press(*"servers")
        await see(pilot, "/mcp")
        await pilot.press("enter")
        await see(pilot, "No server is configured")


async def test_help_is_made_from_the_live_bindings(tmp_path: Path) -> None:
    async with app(tmp_path, keymap={"chat.servers": "f9"}).run_test(size=(120, 300)) as pilot:
        await pilot.press("f1", *"servers")
        await see(pilot, "f9")
        assert re.search(r"ctrl\+l\s+servers", seen(pilot.app)) is None
        await pilot.press("ctrl+u", "slash")
        await see(pilot, "Commands")
        for command in chat(pilot.app).commands:
            assert f"/{command.intent.name}" in seen(pilot.app)


@each("size", spread([(60, 15), (80, 24), (120, 40), (200, 60)], 2))
async def test_help_begins_with_what_matters_and_is_filtered_by_typing(tmp_path: Path, size: tuple[int, int]) -> None:
    async with app(tmp_path).run_test(size=size) as pilot:
        await pilot.press("f1")
        await see(pilot, "stop, or go back")
        assert "esc close" in seen(pilot.app)
        assert "Everywhere" not in seen(pilot.app), "the card alone"
        await pilot.press(*"deny")
        await see(pilot, "deny all")
        assert "timeline" not in seen(pilot.app).split("Help")[1].split("deny")[-1].split("\n")[0]
        await pilot.press(*"zzz")
        await see(pilot, "Nothing here is called that.")
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is chat(pilot.app))
        assert chat(pilot.app).prompt.text == ""


@given(
    st.lists(st.tuples(st.text(max_size=40), st.text(max_size=60)), max_size=30), st.text(max_size=3),
    st.integers(24, 200),
)  # fmt: skip
def test_no_line_of_help_is_wider_than_its_room(keys: list[tuple[str, str]], wanted: str, width: int) -> None:
    rows = [(one_line(key), one_line(what)) for key, what in keys]
    sections = [KeySection(f"Place {n}", rows[n : n + 7]) for n in range(0, len(rows), 7)]
    for line in help_lines(sections, wanted, width):
        assert line.cell_length <= width


async def test_no_line_of_help_goes_on_in_the_column_of_another(tmp_path: Path) -> None:
    console = app(tmp_path)
    async with console.run_test(size=(110, 40)) as pilot:
        await pilot.press("f1", "e")
        await see(pilot, "Everywhere")
        shown = console.screen.query_one(Static)
        for width in (110, 126, 144):
            await pilot.resize_terminal(width, 40)
            await until(pilot, lambda: shown.size.height == len(str(shown.content).split("\n")), f"at {width}")


async def test_a_theme_is_shown_while_moving_put_back_on_escape_and_remembered_once_picked(tmp_path: Path) -> None:
    remembered: list[str] = []
    console = app(tmp_path, remember_theme=remembered.append)
    async with console.run_test(size=(100, 40)) as pilot:
        await enter(pilot, "/theme")
        await see(pilot, "Warm orange and violet")
        assert console.theme == "fanout-dark"
        await pilot.press("down")
        await until(pilot, lambda: console.theme == "fanout-light")
        await pilot.press("escape")
        await until(pilot, lambda: console.theme == "fanout-dark")
        assert not remembered
        await enter(pilot, "/theme")
        await see(pilot, "Warm orange and violet")
        await pilot.press(*"fjord", "enter")
        await until(pilot, lambda: remembered == ["fjord"])
        assert console.theme == "fjord"
        await enter(pilot, "/theme plum")
        await until(pilot, lambda: console.theme == "plum")


async def test_a_model_is_picked_or_typed(tmp_path: Path) -> None:
    console = app(tmp_path, known_models=["openai/gpt-5", "anthropic/claude"])
    async with console.run_test(size=(100, 40)) as pilot:
        await enter(pilot, "/model")
        await see(pilot, "anthropic/claude")
        await pilot.press(*"gpt", "enter")
        await see(pilot, "gpt-5 · openai")
        await enter(pilot, "/model")
        await see(pilot, "anthropic/claude")
        await pilot.press(*"ollama/qwen3", "enter")
        await see(pilot, "qwen3 · ollama")
        await enter(pilot, "/model nobody/x")
        await see(pilot, "there is no provider nobody")
        assert "qwen3 · ollama" in seen(console)


async def test_new_forgets_and_clear_does_not(tmp_path: Path) -> None:
    model = WrittenModel(say("One."), say("Two."), say("Three."))
    async with app(tmp_path, model).run_test(size=(100, 40)) as pilot:
        await pilot.press(*"a", "enter")
        await see(pilot, "One.")
        await enter(pilot, "/clear")
        await until(pilot, lambda: "One." not in seen(pilot.app))
        await pilot.press(*"b", "enter")
        await see(pilot, "Two.")
        assert len(model.requests[1].messages) == 3
        await enter(pilot, "/new")
        await see(pilot, "many tool calls at once")
        await pilot.press(*"c", "enter")
        await see(pilot, "Three.")
        assert [m.content for m in model.requests[2].messages] == ["c"]


async def test_the_answer_is_copied(tmp_path: Path) -> None:
    console = app(tmp_path, WrittenModel(say("Forty-two.")))
    async with console.run_test(size=(100, 40)) as pilot:
        await pilot.press(*"a", "enter")
        await see(pilot, "Forty-two.")
        await enter(pilot, "/copy")
        await until(pilot, lambda: console.clipboard == "Forty-two.")


async def test_the_log_is_shown_from_its_end(tmp_path: Path) -> None:
    (tmp_path / "fanout.log").write_text("".join(f"line {n} \x1b[31m[/red]\n" for n in range(50_000)))
    async with app(tmp_path).run_test(size=(100, 40)) as pilot:
        await enter(pilot, "/log")
        await see(pilot, "line 49999 ␛[31m[/red]")


async def test_servers_are_listed_with_their_reasons(tmp_path: Path) -> None:
    servers = [Server("calculator"), Server("files", "failed", "command not found: files-mcp [/red]")]
    async with app(tmp_path, server_statuses=lambda: servers).run_test(size=(100, 40)) as pilot:
        await see(pilot, "1/2 servers")
        await pilot.press("ctrl+l")
        await see(pilot, "command not found: files-mcp [/red]")
        servers[1] = Server("files", "ready")
        await until(pilot, lambda: seen(pilot.app).count("● ready") == 2)
