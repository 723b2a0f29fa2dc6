"""Conversations with the offline model: it reads results, follows up, and says plainly what it is."""

from __future__ import annotations

from console_app.domain.messages import AssistantMessage, Message, ToolMessage, UserMessage
from console_app.domain.tools import Outcome, ToolCall
from console_app.engine.context import normalise
from tests.providers.offline_play import ask, results
from tests.providers.offline_tools import CALCULATOR, ENABLE, EVERYTHING, FAIL, FINISHED, READ_FILE, SLIDES, TODO

BLOCKED = "Cannot complete because a previous tool call failed in this turn. Address the failure before completing."


async def test_three_results_come_back_as_a_table_in_call_order() -> None:
    said: list[Message] = [UserMessage(content="(1) 355/113, (2) sqrt(2), (3) e^pi")]
    first = await ask(said, EVERYTHING)
    assert first.text == "I'll work these three out together – none depends on another."
    history = [*said, first.message, *results(first, "3.14159292", "1.41421356", "23.14069263")]
    last = await ask(history, EVERYTHING)
    assert last.calls == []
    assert last.finish == "stop"
    rows = [line for line in last.text.splitlines() if line.startswith("| `")]
    assert rows == ["| `355/113` | `3.14159292` |", "| `sqrt(2)` | `1.41421356` |", "| `e^pi` | `23.14069263` |"]


async def test_a_failure_is_said_with_what_to_do_and_leaves_its_siblings_alone() -> None:
    said: list[Message] = [UserMessage(content="2^8 and 1/0 = and demo.fail {}")]
    first = await ask(said, EVERYTHING)
    outcomes = results(first, "256", (Outcome.FAILED, "Tool execution failed: division by zero"), (Outcome.DENIED, ""))
    last = await ask([*said, first.message, *outcomes], EVERYTHING)
    assert "`2^8` = `256`" in last.text
    assert "`1/0` failed: `division by zero`" in last.text
    assert "runs it again" in last.text
    assert "**demo.fail** was denied by you." in last.text
    assert "1 of 3 calls succeeded." in last.text


async def test_every_outcome_is_told() -> None:
    said: list[Message] = [UserMessage(content="demo.fail {}")]
    first = await ask(said, EVERYTHING)
    for outcome in Outcome:
        last = await ask([*said, first.message, *results(first, (outcome, "why it was so"))], EVERYTHING)
        assert last.finish in ("stop", "tool_calls")
        assert "why it was so" in last.text


async def test_results_are_quoted_so_that_no_markup_of_theirs_can_act() -> None:
    hostile = "| a | `x` ``` [click](http://evil) <b> [/red] \x1b]52;c;AAAA\x07 \u202e"
    said: list[Message] = [UserMessage(content="2^8, 3^8")]
    first = await ask(said, EVERYTHING)
    last = await ask([*said, first.message, *results(first, hostile, "6561")], EVERYTHING)
    assert "\x1b" not in last.text
    assert "\u202e" not in last.text
    row = next(line for line in last.text.splitlines() if "2^8" in line)
    assert row.replace("\\|", "").count("|") == 3
    assert "````" in row


async def test_a_long_result_is_shown_from_its_beginning() -> None:
    content = "".join(f"line {number}\n" for number in range(100_000))
    said: list[Message] = [UserMessage(content="read big.txt")]
    first = await ask(said, EVERYTHING)
    last = await ask([*said, first.message, *results(first, content)], EVERYTHING)
    assert "line 1\n" in last.text
    assert len(last.text) < 3_000
    assert "the panel has the whole" in last.text


async def test_again_runs_the_last_prompt_again_and_a_follow_up_only_its_own_part() -> None:
    said: list[Message] = [UserMessage(content="2^8 and 3^8")]
    first = await ask(said, EVERYTHING)
    history: list[Message] = [*said, first.message, *results(first, "256", "6561")]
    history.append((await ask(history, EVERYTHING)).message)
    again = await ask([*history, UserMessage(content="Do it again, please")], EVERYTHING)
    assert [arguments["expression"] for _, arguments in again.named] == ["2^8", "3^8"]
    assert not {call.id for call in again.calls} & {call.id for call in first.calls}
    follow = await ask([*history, UserMessage(content="and 2^10")], EVERYTHING)
    assert [arguments["expression"] for _, arguments in follow.named] == ["2^10"]


async def test_what_you_say_while_calls_run_is_planned_too_and_everything_is_reported() -> None:
    said: list[Message] = [UserMessage(content="2^8")]
    first = await ask(said, EVERYTHING)
    steered: list[Message] = [*said, first.message, *results(first, "256"), UserMessage(content="also 3^8")]
    second = await ask(steered, EVERYTHING)
    assert [arguments["expression"] for _, arguments in second.named] == ["3^8"]
    last = await ask([*steered, second.message, *results(second, "6561")], EVERYTHING)
    assert "256" in last.text
    assert "6561" in last.text


async def test_a_stopped_turn_is_not_taken_up_again() -> None:
    note = UserMessage(content="The user stopped this turn.", origin="fanout")
    call = ToolCall(id="a", name="calculator_evaluate", arguments='{"expression": "2^8"}')
    stopped: list[Message] = [
        UserMessage(content="2^8"),
        AssistantMessage(content="I'll", tool_calls=(call,)),
        ToolMessage(tool_call_id="a", content="", outcome=Outcome.CANCELLED),
        note,
    ]
    reply = await ask([*stopped, UserMessage(content="3^8")], EVERYTHING)
    assert [arguments["expression"] for _, arguments in reply.named] == ["3^8"]
    taken_back = await ask([UserMessage(content="2^8"), UserMessage(content="3^8")], EVERYTHING)
    assert [arguments["expression"] for _, arguments in taken_back.named] == ["3^8"]


async def test_what_fanout_notes_before_a_prompt_is_not_what_the_user_asks_for() -> None:
    call = ToolCall(id="a", name="calculator_evaluate", arguments='{"expression": "2^8"}')
    asked = (UserMessage(content="2^8"), AssistantMessage(content="I'll", tool_calls=(call,)))
    cancelled = ToolMessage(tool_call_id="a", content="", outcome=Outcome.CANCELLED)
    stopped = UserMessage(content="[Fanout: the user stopped the turn here.]", origin="fanout")
    done = (ToolMessage(tool_call_id="a", content="256"), AssistantMessage(content="2^8 = 256"))
    again = UserMessage(content='I ran calculator.evaluate again, with {"expression": "2^8"}: 256', origin="fanout")
    for earlier in ([*asked, cancelled, stopped], [*asked, *done, again], [UserMessage(content="2^8"), stopped]):
        said = [*earlier, UserMessage(content="3^8")]
        reply = await ask(normalise(said), EVERYTHING)  # as they go to a provider: notes and prompt in one message
        assert [arguments["expression"] for _, arguments in reply.named] == ["3^8"]
        last = await ask(normalise([*said, reply.message, *results(reply, "6561")]), EVERYTHING)
        assert "6561" in last.text
        assert "2^8" not in last.text
        assert "cancelled" not in last.text


async def test_one_call_at_a_time_when_that_is_asked_for_until_all_are_done() -> None:
    history: list[Message] = [UserMessage(content="2^8, 3^8 and 4^8")]
    asked: list[str] = []
    for _ in range(3):
        reply = await ask(history, EVERYTHING, parallel=False)
        assert len(reply.calls) == 1
        asked.append(reply.named[0][1]["expression"])
        history += [reply.message, *results(reply, "1")]
    assert asked == ["2^8", "3^8", "4^8"]
    assert (await ask(history, EVERYTHING, parallel=False)).calls == []


async def test_calls_that_were_put_off_are_asked_for_again_but_not_for_ever() -> None:
    put_off = (Outcome.SKIPPED, "not executed: one tool a message")
    history: list[Message] = [UserMessage(content="2^8, 3^8")]
    first = await ask(history, EVERYTHING)
    history += [first.message, *results(first, "256", put_off)]
    second = await ask(history, EVERYTHING)
    assert [arguments["expression"] for _, arguments in second.named] == ["3^8"]
    last = await ask([*history, second.message, *results(second, put_off)], EVERYTHING)
    assert last.calls == []
    assert "was put off" in last.text


async def test_without_tools_or_with_tools_forbidden_it_answers_in_words() -> None:
    forbidden = await ask("2^8", [CALCULATOR], tool_choice="none")
    assert forbidden.calls == []
    assert "calculator.evaluate" in forbidden.text
    nothing = await ask("hello", [])
    assert nothing.finish == "stop"
    assert nothing.text.startswith("Hello! I am the offline rehearsal model")


async def test_it_says_what_it_can_do_with_the_tools_that_are_on_and_how_to_get_a_real_model() -> None:
    reply = await ask("What is the meaning of life?", [CALCULATOR])
    assert "arithmetic" in reply.text
    assert "PowerPoint" not in reply.text
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "/connect"):
        assert name in reply.text


async def test_the_todo_list_grows_and_items_are_ticked_over_turns() -> None:
    history: list[Message] = [UserMessage(content="add 'milk' to my to-do list")]
    for prompt in ("add 'bread' to my to-do list", "mark 'milk' as done"):
        reply = await ask(history, EVERYTHING)
        history += [
            reply.message,
            *results(reply, "ok"),
            AssistantMessage(content="Done."),
            UserMessage(content=prompt),
        ]
    last = await ask(history, EVERYTHING)
    assert last.named[0][1] == {
        "todos": [{"content": "milk", "status": "completed"}, {"content": "bread", "status": "pending"}]
    }


async def test_completion_is_a_call_where_there_is_one_and_a_blocked_one_is_explained() -> None:
    tools = [READ_FILE, TODO, FAIL, FINISHED]
    history: list[Message] = [UserMessage(content="Read the README.md, and add 'Check for coolness' to the to-do list")]
    first = await ask(history, tools)
    assert [name for name, _ in first.named] == ["files_read_file", "fanout_update_todo_list"]
    history += [first.message, *results(first, (Outcome.FAILED, "Tool execution failed: no such file"), "1 item")]
    completing = await ask(history, tools)
    assert [name for name, _ in completing.named] == ["fanout_finished"]
    assert "no such file" in completing.named[0][1]["final_answer"]
    history += [completing.message, *results(completing, (Outcome.BLOCKED, BLOCKED))]
    blocked = await ask(history, tools)
    assert blocked.calls == []
    assert "just complete anyway" in blocked.text
    history += [blocked.message, UserMessage(content="just complete anyway")]
    assert [name for name, _ in (await ask(history, tools)).named] == ["fanout_finished"]
    without = await ask(history, tools[:-1])
    assert without.calls == []
    assert "Completed, as you asked" in without.text


SLIDES_AND_SUM = "create a one-slide PowerPoint about parallel computing and calculate 2^64"


async def test_a_server_that_is_off_is_asked_for_beside_what_can_run_and_then_used() -> None:
    said: list[Message] = [UserMessage(content=SLIDES_AND_SUM)]
    first = await ask(said, [CALCULATOR, ENABLE])
    assert first.named == [
        ("fanout_enable_server", {"server": "pptx_generator"}),
        ("calculator_evaluate", {"expression": "2^64"}),
    ]
    assert "`pptx_generator`, which is off" in first.text
    history = [*said, first.message, *results(first, "The user switched pptx_generator on.", "18446744073709551616")]
    second = await ask(history, [CALCULATOR, SLIDES])
    assert [name for name, _ in second.named] == ["pptx_generator_markdown_to_pptx"]
    last = await ask([*history, second.message, *results(second, "saved")], [CALCULATOR, SLIDES])
    assert last.calls == []
    assert "18446744073709551616" in last.text
    assert "enable_server" not in last.text


async def test_a_server_that_you_do_not_switch_on_is_asked_for_once() -> None:
    said: list[Message] = [UserMessage(content=SLIDES_AND_SUM)]
    first = await ask(said, [CALCULATOR, ENABLE])
    history = [*said, first.message, *results(first, (Outcome.DENIED, "The user denied this call."), "18")]
    last = await ask(history, [CALCULATOR, ENABLE])
    assert last.calls == []
    assert "I can't make a presentation" in last.text
    again = await ask([*history, last.message, UserMessage(content="again")], [CALCULATOR, ENABLE])
    assert [name for name, _ in again.named] == ["fanout_enable_server", "calculator_evaluate"]


async def test_one_server_is_asked_for_once_for_all_that_it_could_do() -> None:
    reply = await ask("read README.md and list the files in docs/", [CALCULATOR, ENABLE])
    assert reply.named == [("fanout_enable_server", {"server": "files"})]
    named = await ask('files.read_file {"path": "a.md"}', [CALCULATOR, ENABLE])
    assert named.named == [("fanout_enable_server", {"server": "files"})]
    unknown = await ask('nowhere.read_file {"path": "a.md"}', [CALCULATOR, ENABLE])
    assert unknown.calls == []
    assert "There is no tool `nowhere.read_file` on" in unknown.text


async def test_what_it_could_do_with_a_server_that_is_off_is_said() -> None:
    assert "asked for where a prompt needs them: `pptx_generator`, `files`" in (await ask("hello", [ENABLE])).text
