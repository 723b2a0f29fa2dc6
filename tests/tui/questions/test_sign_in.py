"""A server that wants a new sign-in in the middle of a session: asked on the board, for the call that needs it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from console_app.config.servers import ServerConfig
from tests.mcp_client.oauth_site import Browser, running_site
from tests.tui.parts import calls, chat, see, seen, until
from tests.tui.questions.stage import Stage, stage


@asynccontextmanager
async def signed_out_meanwhile(folder: Path) -> AsyncIterator[tuple[Stage, Browser]]:
    """A console that was signed in to its server, whose tokens hold no longer."""
    async with running_site() as site:
        browser, server = Browser(), ServerConfig(name="web", url=site.mcp, transport="http")
        async with stage(folder, server=server, browser=browser) as s:
            await s.hub.sign_in("web")
            await s.answer(calls(("web_greet", "{}")))
            assert await s.ended() == ["hello, friend"]
            site.valid.clear()
            site.refreshable.clear()
            yield s, browser


async def test_a_call_waits_while_you_sign_in_again_and_runs_then(tmp_path: Path) -> None:
    async with signed_out_meanwhile(tmp_path) as (s, browser):
        await s.answer(calls(("web_greet", "{}")))
        await see(s.pilot, "web · greet wants you to open a page")
        await see(s.pilot, "needs input · to sign in")
        assert "It wants you to sign in (again)." in seen(s.console)
        assert "served by this machine" in seen(s.console)
        await s.come_to_the_board()
        await s.press("y")
        await until(s.pilot, lambda: len(s.calls) == 2 and s.calls[1].outcome is not None, "the second call's end")
        assert await s.ended() == ["hello, friend"] * 2
        assert len(browser.opened) == 2


async def test_cancelling_the_call_takes_the_question_back(tmp_path: Path) -> None:
    async with signed_out_meanwhile(tmp_path) as (s, browser):
        await s.answer(calls(("web_greet", "{}")))
        await see(s.pilot, "web · greet wants you to open a page")
        activity = chat(s.console).console.conversation.activity
        assert activity is not None
        activity.cancel_call(s.calls[1].id)
        await until(s.pilot, lambda: not chat(s.console).boards.human.is_asking, "no question")
        assert len(browser.opened) == 1
