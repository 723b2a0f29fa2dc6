"""From events to blocks: live, replayed, late, unknown, and in an order nobody expects."""

from __future__ import annotations

from console_app.domain import events as ev
from console_app.domain.tools import Outcome, ToolCall
from console_app.tui.lineview import AssistantBlock, Block, CallBlock
from console_app.tui.lineview.blocks.messages import ReasoningBlock
from tests.tui.lineview.scenes import TinyApp, painted, screen_lines


def kinds(app: TinyApp) -> list[str]:
    return [type(block).__name__ for block in app.view.blocks]


def one(app: TinyApp, kind: type[Block]) -> Block:
    return next(block for block in app.view.blocks if isinstance(block, kind))


async def test_a_turn_becomes_prompt_reasoning_answer_calls_and_its_end() -> None:
    app = TinyApp()
    async with app.run_test(size=(100, 40)) as pilot:
        story = app.story
        story.turn("Compute")
        story.send(ev.ReasoningDelta, text="Let me think.")
        story.say("I will ", at=1)
        call = story.call(0, 1.0, started=1.0, expression="1+1")
        story.say("compute.", at=1)  # the call doesn't say what it stands behind
        story.send(ev.MessageAdded, 1, role="assistant", content="I will compute.")
        story.finish(call, 2.0, content="2")
        story.send(ev.MessageAdded, 2, role="tool", content="2", tool_call_id=call, outcome=Outcome.SUCCEEDED)
        story.send(ev.StepStarted, 2)
        story.say("It is 2.", at=2)
        story.send(ev.UsageReported, 3, input_tokens=1000, output_tokens=200, cost=0.02)
        story.send(ev.TurnFinished, 3, outcome="completed")
        await painted(pilot)
        assert kinds(app) == [
            "UserBlock",
            "ReasoningBlock",
            "AssistantBlock",
            "BatchBlock",
            "CallBlock",
            "AssistantBlock",
            "TurnEndBlock",
        ]
        text = "\n".join(screen_lines(app))
        assert "I will compute." in text
        assert "thought for 1.0 s" in text
        assert "✓ done · 3.0 s · 1,200 tokens · $0.02" in text


async def test_thoughts_plans_and_observations_are_labelled_rows() -> None:
    app = TinyApp()
    async with app.run_test(size=(100, 40)) as pilot:
        story = app.story
        story.turn("Compute")
        story.send(ev.ThoughtDelta, 1, label="reason", text="I know ")
        story.send(ev.ThoughtDelta, 1, label="reason", text="nothing. Plan: ask.")
        await painted(pilot)
        assert "┊ reason   I know nothing. Plan: ask." in "\n".join(screen_lines(app))
        story.send(ev.Thought, 2, label="reason", text="I know nothing.")
        story.send(ev.Thought, 2, label="plan", text="Ask.")
        await painted(pilot)
        text = "\n".join(screen_lines(app))
        assert "┊ reason   I know nothing." in text
        assert "┊ plan     Ask." in text


async def test_what_finished_was_told_beside_a_thought_stands_below_the_call() -> None:
    app = TinyApp()
    async with app.run_test(size=(100, 40)) as pilot:
        story = app.story
        story.turn("Compute")
        call = story.call(0, 1.0, started=1.0, final_answer="It is 2.")
        story.finish(call, 2.0, content="Completed.")
        story.send(ev.MessageAdded, 3, role="assistant", content="", label="reason")
        story.send(ev.MessageAdded, 3, role="assistant", content="It is 2.")
        await painted(pilot)
        assert kinds(app) == ["UserBlock", "BatchBlock", "CallBlock", "AssistantBlock"]


async def test_a_replay_without_deltas_looks_like_the_live_turn() -> None:
    pictures: list[list[str]] = []
    for live in (True, False):
        app = TinyApp()
        async with app.run_test(size=(100, 40)) as pilot:
            app.story.turn("Compute")
            if live:
                for char in "Some **answer** with `code`.":
                    app.story.say(char)
            call = ToolCall(id="call_1_0", name="demo_look_up")
            content = "Some **answer** with `code`."
            app.story.send(ev.MessageAdded, role="assistant", content=content, tool_calls=(call,))
            app.story.finish(app.story.call(0, started=0.0, x=1), 1.0)
            app.story.send(ev.TurnFinished, 2, outcome="completed")
            await painted(pilot)
            pictures.append(screen_lines(app))
    assert pictures[0] == pictures[1]


async def test_stored_reasoning_is_shown_in_a_replay() -> None:
    app = TinyApp()
    async with app.run_test(size=(100, 40)) as pilot:
        app.story.turn()
        kept = ({"provider": "x", "text": "Hidden thoughts."},)
        app.story.send(ev.MessageAdded, role="assistant", content="Hi", reasoning=kept)
        await painted(pilot)
        assert isinstance(one(app, ReasoningBlock), ReasoningBlock)
        assert any("Hidden thoughts." in line for line in screen_lines(app))


async def test_unknown_and_late_events_change_nothing() -> None:
    app = TinyApp()
    async with app.run_test(size=(100, 40)) as pilot:
        app.story.turn()
        call = app.story.call(0, started=0.0)
        app.story.finish(call, 1.0, content="first")
        app.story.finish(call, 2.0, content="second")
        app.story.send(ev.CallProgress, 3, call_id="nobody", progress=1)
        app.story.send(ev.CallFinished, 3, call_id="nobody", outcome=Outcome.FAILED, content="x")
        app.story.send(ev.CallDropped, 3, call_id="nobody")
        await painted(pilot)
        text = "\n".join(screen_lines(app))
        assert "first" in text
        assert "second" not in text


async def test_what_proved_to_be_no_call_goes_away() -> None:
    app = TinyApp()
    async with app.run_test(size=(100, 40)) as pilot:
        app.story.turn()
        first, second = app.story.call(0), app.story.call(1)
        await painted(pilot)
        assert any("2 calls" in line for line in screen_lines(app))
        app.story.send(ev.CallDropped, call_id=second)
        await painted(pilot)
        assert not any("2 calls" in line for line in screen_lines(app))
        panels = [block for block in app.view.blocks if isinstance(block, CallBlock)]
        assert [block.call.id for block in panels] == [first]


async def test_revised_text_replaces_what_was_shown() -> None:
    app = TinyApp()
    async with app.run_test(size=(100, 40)) as pilot:
        app.story.turn()
        app.story.say("secret thoughts</think>Hello")
        await painted(pilot)
        app.story.send(ev.TextRevised, text="Hello")
        await painted(pilot)
        answer = one(app, AssistantBlock)
        assert answer.copy_text == "Hello"
        assert not any("secret" in line for line in screen_lines(app))


async def test_retries_are_one_notice_that_changes() -> None:
    app = TinyApp()
    async with app.run_test(size=(100, 40)) as pilot:
        app.story.turn()
        for attempt in (2, 3, 4):
            app.story.send(ev.RetryScheduled, attempt=attempt, delay=2.0, why="The model is overloaded.")
        await painted(pilot)
        assert kinds(app) == ["UserBlock", "RetryBlock"]
        assert any("The model is overloaded. Retrying: attempt 4" in line for line in screen_lines(app))


async def test_steered_words_and_notes_have_their_place() -> None:
    app = TinyApp()
    async with app.run_test(size=(100, 40)) as pilot:
        app.story.turn("Go")
        app.story.send(ev.MessageAdded, role="user", content="Go")
        app.story.send(ev.MessageAdded, role="user", content="And hurry")
        app.story.send(ev.MessageAdded, role="user", content="The user stopped the turn.", origin="fanout")
        await painted(pilot)
        lines = screen_lines(app)
        assert sum("Go" in line for line in lines) == 1
        assert any("while it ran: And hurry" in line for line in lines)
        assert not any("The user stopped" in line for line in lines), "written for the model"


async def test_how_a_turn_ended_is_said() -> None:
    app = TinyApp()
    async with app.run_test(size=(100, 60)) as pilot:
        for outcome, words in (
            ("cancelled", "■ stopped"),
            ("failed", "✗ failed"),
            ("step_limit", "! step limit reached"),
        ):
            app.story.turn()
            app.story.send(ev.TurnFinished, 1, outcome=outcome, error="The reason." if outcome == "failed" else None)
            await painted(pilot)
            assert any(words in line for line in screen_lines(app))
        assert any("The reason." in line for line in screen_lines(app))


async def test_a_cleared_view_starts_anew() -> None:
    app = TinyApp()
    async with app.run_test(size=(100, 40)) as pilot:
        app.story.turn()
        app.story.say("Hello")
        await painted(pilot)
        app.view.clear()
        await painted(pilot)
        assert not any(screen_lines(app))
        app.story.turn("Again")
        await painted(pilot)
        assert kinds(app) == ["UserBlock"]


async def test_a_thought_grows_in_one_row_and_an_answer_given_to_finished_stands_below_the_calls() -> None:
    app = TinyApp()
    async with app.run_test(size=(100, 40)) as pilot:
        story = app.story
        story.turn("Compute")
        story.send(ev.ThoughtDelta, label="think", text="Two ")
        story.send(ev.ThoughtDelta, label="think", text="sums.")
        story.send(ev.Thought, label="think", text="Two sums.")
        story.send(ev.MessageAdded, 1, role="assistant", content="Two sums.", label="think")
        story.send(ev.StepStarted, 1)
        call = story.call(0, 1.0, started=1.0, expression="1+1")
        story.finish(call, 2.0, content="2")
        story.send(ev.CallRestarted, 2, call_id=call, attempt=2)
        story.send(ev.TodoChanged, 2, items=())
        story.finish(call, 3.0, content="2")
        story.send(ev.MessageAdded, 3, role="assistant", content="")
        story.send(ev.MessageAdded, 3, role="assistant", content="It is 2.")
        await painted(pilot)
        assert kinds(app) == ["UserBlock", "ThoughtBlock", "BatchBlock", "CallBlock", "AssistantBlock"]
        assert "┊ think    Two sums." in "\n".join(screen_lines(app))


async def test_cut_off_stands_under_what_was_cut() -> None:
    for calls, cut in (((), True), ((ToolCall(id="a", name="demo_do"),), False)):
        app = TinyApp()
        async with app.run_test(size=(100, 40)) as pilot:
            story = app.story
            story.turn("Compute")
            story.say("I will look.", at=1)
            content = {"role": "assistant", "content": "I will look.", "tool_calls": calls, "interrupted": True}
            story.send(ev.MessageAdded, 1, **content)
            story.send(ev.TurnFinished, 3, outcome="cancelled")
            await painted(pilot)
            assert ("cut off here" in "\n".join(screen_lines(app))) is cut, "with calls it is they that were cut"
