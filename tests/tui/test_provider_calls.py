"""The panel of a call that the provider runs itself: to look at, with no key that would change it."""

from __future__ import annotations

from pathlib import Path

from console_app.domain.chunks import FinishChunk, ProviderCallFinished, ProviderCallStarted, TextChunk
from console_app.domain.tools import Outcome
from tests.tui.parts import Answer, Tools, WrittenModel, app, chat, decide, echo, see, seen, until
from tests.tui.test_reaching_calls import told


def searched() -> Answer:
    """An answer with a search of the provider's own."""
    return [
        ProviderCallStarted("srvtoolu_1", "web_search", arguments='{"query": "tide tables"}'),
        ProviderCallFinished("srvtoolu_1", Outcome.SUCCEEDED, "Tides · https://a.example/t"),
        TextChunk("High water at six."),
        FinishChunk("stop"),
    ]


async def test_it_shows_what_came_of_it_and_refuses_to_run_again(tmp_path: Path) -> None:
    async with app(tmp_path, WrittenModel(searched()), Tools({("lab", "echo"): echo})).run_test(
        size=(100, 30)
    ) as pilot:
        screen = chat(pilot.app)
        await pilot.press(*"go", "enter")
        await see(pilot, "High water at six.")
        await until(pilot, lambda: not screen.console.conversation.busy)
        assert "web_search" in seen(pilot.app)
        assert "tide tables" in seen(pilot.app)
        await pilot.press("alt+up")
        await decide(pilot, "r")
        await told(
            pilot, "What answers runs this call itself: it can't be stopped, changed, sent away or run again here."
        )
        await decide(pilot, "x", "e")
        assert pilot.app.screen is screen  # no dialog to edit it has opened
        assert screen.ui.shown.transcript.calls["srvtoolu_1"].attempt == 1
        assert "retry" not in seen(pilot.app)
        await pilot.press("o")
        await see(pilot, "run by the provider itself")
        await see(pilot, "https://a.example/t")
