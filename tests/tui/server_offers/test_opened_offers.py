"""A prompt and a resource, opened in the servers screen: what they say, cost and hold, and how they went."""

from __future__ import annotations

from console_app.tui.asking.form_dialogs import ValuesForm
from console_app.tui.servers.folding_tree import FoldingTree
from console_app.tui.servers.prompt_screen import PromptScreen
from console_app.tui.widgets.text_view import TextView
from tests.tui.server_offers.conftest import Console, OpenConsole, config
from tests.tui.server_offers.test_servers_offers import at


async def run_review(shown: Console) -> None:
    await at(shown, "review")
    await shown.pilot.press("enter")
    await shown.see("language required")
    await shown.pilot.press("enter")
    await shown.until(lambda: isinstance(shown.pilot.app.screen, ValuesForm))
    await shown.pilot.press(*"rust", "ctrl+s")
    await shown.until(lambda: isinstance(shown.pilot.app.screen, PromptScreen))


async def test_a_prompt_opens_runs_and_shows_what_its_server_makes_of_it(console: OpenConsole) -> None:
    async with console(size=(100, 40)) as shown:
        await run_review(shown)
        await shown.see("Review this rust, as you like.")
        for text in (
            "Asks for a review of code in a language",
            "Which language it is written in",
            "style optional",
            "2 arguments, 1 required",
            "tokens in 4 messages, once sent",
            "user, embedded note://embedded",
            "what is embedded",
            "image/png",
            "1 use · none failed · p50",
            "s  rust",
        ):
            await shown.see(text)
        await shown.pilot.press("a")
        await shown.until(lambda: shown.text == "/notes:review language=rust ")


async def test_a_prompt_that_fails_says_so_and_counts_as_failed(console: OpenConsole) -> None:
    async with console(size=(100, 40)) as shown:
        await at(shown, "broken")
        await shown.pilot.press("enter")
        await shown.see("takes nothing")
        await shown.pilot.press("enter")
        await shown.see("1 use · 1 failed")
        await shown.see("✗ Server: notes")
        await shown.pilot.press("escape")


async def test_a_resource_is_shown_as_what_it_is_or_as_it_came(console: OpenConsole) -> None:
    async with console(config("page"), size=(120, 40)) as shown:
        await at(shown, "note://page.md")
        await shown.pilot.press("enter")
        tree = shown.pilot.app.screen.query_one(FoldingTree)
        await shown.until(lambda: tree.display and "A heading" in shown.screen, "rendered")
        assert "**bold**" not in shown.screen
        await shown.see("1 use · none failed")
        await shown.see("tokens when attached")
        await shown.pilot.press("v")
        await shown.see("**bold**")
        assert shown.pilot.app.screen.query_one(TextView).display
