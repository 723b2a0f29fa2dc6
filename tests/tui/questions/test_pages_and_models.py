"""Pages that servers want opened, and servers that want the model: shown whole, and nothing without a yes."""

from __future__ import annotations

import json
from pathlib import Path

from console_app.domain.chunks import FinishChunk, TextChunk, UsageChunk
from tests.tui.parts import Answer, calls, chat, say, see, seen, until
from tests.tui.questions.stage import stage

PARIS: Answer = [TextChunk("Paris"), UsageChunk(70, 5, cost=0.25), FinishChunk("stop")]


async def test_a_page_is_shown_whole_with_its_host_and_opened_only_after_a_yes(tmp_path: Path) -> None:
    url = f"https://bank.example@pay.example.org/{'a' * 100}?to=us#end"
    async with stage(tmp_path) as s:
        await s.ask("page", url=url)
        await see(s.pilot, "asking · page wants you to open a page")
        await s.come_to_the_board()
        for size in ((100, 40), (80, 24)):
            await s.pilot.resize_terminal(*size)
            shown = "".join(line.strip(" ┃\n") for line in seen(s.console).splitlines())
            assert url in shown, size
            assert "the page is on pay.example.org" in shown, size
        assert s.opened == []
        await s.press("y")
        assert await s.ended() == [{"action": "accept"}]
        assert s.opened == [url]
        for key, action in (("n", "decline"), ("x", "cancel")):
            await s.ask("page")
            await s.come_to_the_board()
            await s.press("c")
            assert s.console.clipboard == "https://example.com/pay?to=us"
            await s.press(key)
            assert (await s.ended())[-1] == {"action": action}
        assert s.opened == [url]
        await s.ask("needs_page")  # the call waits for you, and runs then
        await see(s.pilot, "https://example.com/connect")
        await s.come_to_the_board()
        await s.press("y")
        assert (await s.ended())[-1] == "connected"
        assert s.opened == [url, "https://example.com/connect"]


async def test_the_model_is_asked_after_a_yes_and_counted(tmp_path: Path) -> None:
    async with stage(tmp_path) as s:
        await s.answer(calls(("asking_ask_model", "{}")))
        await see(s.pilot, "asking · ask_model wants to use the model")
        shown = seen(s.console)
        for words in ("test-model answers", "at most 50 tokens", "Be brief.", "Capital of France?", "[image]"):
            assert words in shown
        assert len(s.model.requests) == 1
        s.model.answers.append(PARIS)
        await s.come_to_the_board()
        await s.press("y")
        ((answer),) = await s.ended()
        assert answer["content"]["text"] == "Paris"
        assert chat(s.console).ui.shown.transcript.usage.cost == 0.25
        await s.answer(calls(("asking_ask_model", "{}")))
        await see(s.pilot, "wants to use the model")  # once is once


async def test_a_server_may_use_the_model_for_the_session(tmp_path: Path) -> None:
    async with stage(tmp_path) as s:
        await s.answer(calls(("asking_ask_model", "{}"), ("asking_ask_model", "{}")))
        await see(s.pilot, "1 of 2")
        s.model.answers += [PARIS, PARIS]
        await s.come_to_the_board()
        await s.press("a")
        assert [answer["content"]["text"] for answer in await s.ended()] == ["Paris", "Paris"]
        s.model.answers.clear()
        s.model.answers += [calls(("asking_ask_model", "{}")), PARIS, say("Done.")]
        chat(s.console).prompt_area.send("Again")
        await see(s.pilot, "Done.")
        assert len(s.calls) == 3
        assert s.desk.allowed == {"asking"}


async def test_what_is_denied_is_not_asked_and_costs_nothing(tmp_path: Path) -> None:
    async with stage(tmp_path) as s:
        await s.answer(calls(("asking_ask_model", "{}")))
        await s.come_to_the_board()
        await s.press("x", "n")  # x is no answer here
        ((answer),) = await s.ended()
        assert answer["message"] == "User rejected sampling request"
        assert chat(s.console).ui.shown.transcript.usage.cost is None


async def test_a_long_request_scrolls_and_its_end_can_be_read(tmp_path: Path) -> None:
    messages = [{"role": "user", "content": {"type": "text", "text": f"line {n} \x1b[2J\n" * 3}} for n in range(60)]
    async with stage(tmp_path, (80, 24)) as s:
        await s.answer(calls(("asking_ask_model", json.dumps({"messages": messages, "systemPrompt": "s" * 5000}))))
        await s.come_to_the_board()
        await see(s.pilot, "y allow once")
        board = chat(s.console).boards.human
        await s.pilot.press("space", "j", "k", "pageup")
        await see(s.pilot, "space to scroll")
        for _ in range(100):
            await s.pilot.press("pagedown")
            if "line 59" in seen(s.console):
                break
        assert "line 59 ␛[2J" in seen(s.console)
        assert board.has_focus
        await s.pilot.press("escape")
        await until(s.pilot, lambda: not board.has_focus and "to scroll" not in seen(s.console))
        await s.pilot.press("tab")
        await see(s.pilot, "space to scroll")
        await s.press("n")
        await s.ended()
