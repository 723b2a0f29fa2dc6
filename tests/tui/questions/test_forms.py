"""A server's form on the board: shown with who asks, filled in, checked, and answered in one of three ways."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from textual.widgets import Input

from console_app.domain.questions import Elicitation
from tests.tui.parts import calls, chat, pass_by, see, seen, until
from tests.tui.questions.stage import Stage, stage

EVERYTHING = {
    "type": "object",
    "properties": {
        "email": {"type": "string", "format": "email", "title": "Your e-mail", "description": "where it goes to"},
        "guests": {"type": "integer", "minimum": 1, "maximum": 8, "default": 2},
        "price": {"type": "number", "exclusiveMinimum": 0},
        "quiet": {"type": "boolean", "default": False},
        "room": {"oneOf": [{"const": "g", "title": "Garden"}, {"const": "h", "title": "Hall"}], "type": "string"},
        "dishes": {
            "type": "array",
            "items": {"anyOf": [{"const": "f", "title": "Fish"}, {"const": "r", "title": "Rice"}]},
            "minItems": 1,
            "default": ["r"],
        },
        "day": {"type": "string", "format": "date"},
    },
    "required": ["email", "guests", "dishes"],
}


async def test_a_form_is_shown_with_its_call_and_answered_as_proposed_and_one_without_fields_with_yes_or_no(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path) as s:
        await s.ask("form")
        await see(s.pilot, "asking · form asks you")
        await see(s.pilot, "needs input")
        await s.come_to_the_board()
        await s.press("y")
        assert await s.ended() == [{"action": "accept", "content": {"name": "Ada", "size": "m"}}]
        await until(s.pilot, lambda: chat(s.console).prompt.has_focus, "the prompt has the focus again")
        await s.ask("form", requestedSchema={"type": "object", "properties": {}}, message="Really?")
        await s.come_to_the_board()
        assert "fill in" not in seen(s.console)
        await s.press("enter", "y")
        assert (await s.ended())[-1] == {"action": "accept", "content": {}}


async def test_every_kind_of_field_is_filled_in_with_the_keyboard(tmp_path: Path) -> None:
    async with stage(tmp_path) as s:
        await s.ask("form", requestedSchema=EVERYTHING, message="Book a table")
        await s.come_to_the_board()
        await s.press("enter")
        await s.pilot.press(*"ada@example.org", "enter", "enter", *"9.5", "tab", "tab", "right", "tab")
        await s.pilot.press("space", "enter", *"2026-01-31")
        await s.press("enter")
        content = {"email": "ada@example.org", "guests": 2, "price": 9.5, "quiet": False}
        content |= {"room": "g", "dishes": ["f", "r"], "day": "2026-01-31"}
        assert await s.ended() == [{"action": "accept", "content": content}]


async def test_what_is_wrong_is_said_in_its_field_and_nothing_is_sent(tmp_path: Path) -> None:
    async with stage(tmp_path) as s:
        await s.ask("form", requestedSchema=EVERYTHING)
        await s.come_to_the_board()
        await s.press("y", "y")  # the first goes to its end
        await see(s.pilot, "✗ required")
        field = chat(s.console).boards.human.query(Input).first()
        assert field.has_focus
        await s.pilot.press(*"ada")
        await see(s.pilot, "✗ must be an e-mail address")
        await s.pilot.press(*"@example.org", "tab", "backspace", *"12")
        await see(s.pilot, "✗ must be at most 8")
        await s.press("ctrl+s")
        await s.pilot.press("backspace", "tab", *"0")
        await see(s.pilot, "✗ must be more than 0")
        await s.pilot.press("backspace", "tab", "tab", "tab", "down", "space")
        await s.press("ctrl+s")
        await see(s.pilot, "✗ needs at least 1")
        assert not any(call.outcome for call in s.calls)
        await s.pilot.press("space")
        await s.press("ctrl+s")
        ((answer),) = await s.ended()
        assert answer["content"] == {"email": "ada@example.org", "guests": 1, "quiet": False, "dishes": ["r"]}


async def test_what_is_wrong_is_in_view_in_a_small_terminal(tmp_path: Path) -> None:
    fields = {name: {"type": "string", "format": "email"} for name in ("first", "second", "third", "fourth")}
    async with stage(tmp_path, (80, 24)) as s:
        await s.ask("form", requestedSchema={"type": "object", "properties": fields}, message="Your\ntwo\naddresses")
        await s.come_to_the_board()
        await s.press("enter")
        for _ in fields:
            await s.pilot.press("x")
            await see(s.pilot, "✗ must be an e-mail address")
            await s.pilot.press("backspace", "tab")
        await s.press("n")  # Tab behind the last field comes to the board
        await s.ended()


async def test_what_a_field_does_not_take_goes_nowhere_else(tmp_path: Path) -> None:
    async with stage(tmp_path) as s:
        await s.ask("form", requestedSchema=EVERYTHING)
        await s.come_to_the_board()
        await s.press("enter", "tab", "tab", "tab")
        await s.pilot.press(*"yes no 7", "tab", *"quit", "tab", *"Hall")
        board = chat(s.console).boards.human
        assert s.console.focused is not None
        assert board in s.console.focused.ancestors
        assert chat(s.console).prompt.text == ""
        await s.press("escape", "n")
        assert await s.ended() == [{"action": "decline"}]


async def type_ahead(s: Stage, *keys: str) -> None:
    """Keys one right behind the other, as a person who doesn't look at the screen types them."""
    board = chat(s.console).boards.human
    await until(s.pilot, lambda: board.is_asking, "a question")
    board.focus()
    await until(s.pilot, lambda: board.has_focus)
    await s.pilot.press(*keys)


async def test_what_is_typed_ahead_answers_nothing_and_lands_in_no_field(tmp_path: Path) -> None:
    async with stage(tmp_path) as s:
        await s.ask("form")
        await type_ahead(s, *"yn", "enter", "x", "tab", "ctrl+s", "y", "enter")
        board = chat(s.console).boards.human
        await pass_by(s.pilot)
        assert board.has_focus
        assert not any(call.outcome for call in s.calls)
        assert [field.value for field in board.query(Input)] == ["Ada", ""]


async def test_calls_side_by_side_ask_one_after_the_other_and_each_answer_is_its_own(tmp_path: Path) -> None:
    async with stage(tmp_path) as s:
        await s.ask("form", "form", "form")
        await see(s.pilot, "1 of 3")
        await see(s.pilot, "3 calls · 3 running")
        key_of = dict[str, str]()
        for key in "ynx":
            await s.come_to_the_board()
            await s.press(key)
            await until(s.pilot, lambda: sum(call.outcome is not None for call in s.calls) > len(key_of))
            (ended,) = (call.id for call in s.calls if call.outcome is not None and call.id not in key_of)
            key_of[ended] = key
            assert len(s.desk.open) == 3 - len(key_of)
        answers = {key_of[call.id]: answer for call, answer in zip(s.calls, await s.ended(), strict=True)}
        assert answers["y"]["action"] == "accept"
        assert answers["n"] == {"action": "decline"}
        assert answers["x"] == {"action": "cancel"}


async def test_two_questions_of_unsure_calls_are_shown_and_answered_each_with_its_own_words(tmp_path: Path) -> None:
    async with stage(tmp_path) as s:
        forms = [
            {"message": word, "requestedSchema": {"type": "object", "properties": {}}} for word in ("Red?", "Blue?")
        ]
        await s.answer(calls(*(("asking_form", json.dumps(form)) for form in forms)))
        await see(s.pilot, "asking: one of 2 calls asks you · 1 of 2")
        await see(s.pilot, "2 calls · 2 running")
        assert seen(s.console).count("one of 2 calls") == 1  # on the board, and no call is said to wait
        first, second = s.desk.open
        assert [isinstance(one.question, Elicitation) and one.question.message for one in (first, second)] == [
            *("Red?", "Blue?"),
        ]
        await s.come_to_the_board()
        assert "Red?" in seen(s.console)
        await s.press("n")
        await until(s.pilot, lambda: s.desk.open == [second], "the first is answered")
        await see(s.pilot, "Blue?")
        await s.come_to_the_board()
        await s.press("y")
        answers = await s.ended()
        assert [answer["action"] for answer in answers] == ["decline", "accept"]


async def test_a_heading_never_stands_over_another_question(tmp_path: Path) -> None:
    async with stage(tmp_path) as s:
        await s.ask("form", "page")
        board = chat(s.console).boards.human
        await see(s.pilot, "one of 2 calls asks you")
        await until(s.pilot, lambda: len(s.desk.open) == 2)
        board.show(s.desk.open[1:], lambda _call_id: "")
        assert not board.border_title  # not before the other question is there to be read
        await see(s.pilot, "one of 2 calls wants you to open a page")
        assert not any(call.outcome for call in s.calls)


async def test_escape_leaves_the_fields_then_the_board_and_the_question_waits(tmp_path: Path) -> None:
    async with stage(tmp_path) as s:
        await s.ask("form")
        await s.come_to_the_board()
        await s.press("enter", "end", *" Lovelace", "escape")
        board = chat(s.console).boards.human
        await until(s.pilot, lambda: board.has_focus)
        await s.press("escape")
        await until(s.pilot, lambda: chat(s.console).prompt.has_focus)
        await see(s.pilot, "tab to answer")
        await pass_by(s.pilot, 2)
        assert chat(s.console).prompt.has_focus
        await s.come_to_the_board()
        await s.press("y")
        assert (await s.ended())[0]["content"] == {"name": "Ada Lovelace", "size": "m"}


async def test_a_form_whose_call_was_cancelled_under_your_hands_says_so_and_takes_no_keys(tmp_path: Path) -> None:
    async with stage(tmp_path) as s:
        await s.ask("form")
        await s.come_to_the_board()
        await s.press("enter")
        await s.pilot.press(*"xy")
        activity = chat(s.console).console.conversation.activity
        assert activity is not None
        activity.cancel_call(s.calls[0].id)
        await see(s.pilot, "The question was withdrawn")
        await s.pilot.press(*"zy", "enter")
        assert chat(s.console).prompt.text == ""
        assert "withdrawn" in seen(s.console)
        await s.press("enter")
        await until(s.pilot, lambda: not chat(s.console).boards.human.is_asking)
        await until(s.pilot, lambda: chat(s.console).prompt.has_focus)


async def test_a_question_goes_with_the_server_that_asked(tmp_path: Path) -> None:
    async with stage(tmp_path) as s:
        await s.ask("form")
        await see(s.pilot, "asks you")
        await s.hub.connection("asking").reconnect()
        await until(s.pilot, lambda: not chat(s.console).boards.human.is_asking, "no question")
        ((content),) = await s.ended()
        assert "asking" in content


async def test_stopping_the_turn_withdraws_what_it_asks(tmp_path: Path) -> None:
    async with stage(tmp_path) as s:
        await s.ask("form", "form")
        await see(s.pilot, "1 of 2")
        await s.come_to_the_board()
        await s.pilot.press("escape")
        await until(s.pilot, lambda: chat(s.console).prompt.has_focus)
        await s.pilot.press("escape")
        await until(s.pilot, lambda: not chat(s.console).boards.human.is_asking, "no question")
        assert {str(call.outcome) for call in s.calls} == {"cancelled"}


async def test_leaving_the_console_ends_what_is_asked(tmp_path: Path) -> None:
    async with stage(tmp_path) as s:
        await s.ask("form")
        await see(s.pilot, "asks you")
        s.console.exit(0)
    assert s.desk.open == []


HOSTILE = "[b]bold[/b] [@click=app.quit]x[/] \x1b]52;c;AAAA\x07 \u202eevil\u202c [/foo]"


async def test_hostile_text_and_a_long_form_are_shown_in_the_room_there_is(tmp_path: Path) -> None:
    field: dict[str, Any] = {"type": "string", "title": HOSTILE, "description": HOSTILE, "default": HOSTILE}
    names = {"type": "string", "enum": [HOSTILE, "b"], "enumNames": [HOSTILE]}
    form = {"type": "object", "properties": {HOSTILE: field, "pick": names, **{f"f{n}": field for n in range(12)}}}
    async with stage(tmp_path) as s:
        await s.ask("form", requestedSchema=form, message=HOSTILE * 20)
        await s.come_to_the_board()
        for size in ((100, 40), (80, 24), (60, 15)):
            await s.pilot.resize_terminal(*size)
            await see(s.pilot, "y accept")
            assert not {"\x1b", "\u202e", "\x07"} & set(seen(s.console)), size
            board, prompt = chat(s.console).boards.human, size[1] - 3
            await until(s.pilot, lambda at=board, end=prompt: at.region.bottom <= end, "room for the prompt")
        await s.press("enter", "pagedown")
        await s.pilot.press(*["tab"] * 6)
        assert "accept" in seen(s.console)
        await s.press("escape", "n")
        assert await s.ended() == [{"action": "decline"}]


async def test_of_a_thousand_fields_those_that_are_needed_are_shown(tmp_path: Path) -> None:
    form = {"type": "object", "properties": {f"f{n}": {"type": "string"} for n in range(1000)}, "required": ["f999"]}
    async with stage(tmp_path) as s:
        await s.ask("form", requestedSchema=form)
        await see(s.pilot, "939 more optional fields aren't shown.")
        await s.come_to_the_board()
        await s.press("y", "y")  # the first goes to its end
        await see(s.pilot, "✗ required")
        await s.pilot.press(*"ok")
        await s.press("enter")
        assert await s.ended() == [{"action": "accept", "content": {"f999": "ok"}}]


async def test_a_pattern_that_would_take_for_ever_holds_nothing_up(tmp_path: Path) -> None:
    field = {"type": "string", "pattern": "(a+)+$", "default": "a" * 60 + "!"}
    choices = {"type": "string", "enum": [f"choice {n}" for n in range(5000)]}
    async with stage(tmp_path) as s:
        await s.ask("form", requestedSchema={"type": "object", "properties": {"a": field, "b": choices}})
        await s.come_to_the_board()
        await s.press("enter")
        await s.pilot.press("tab", "right", "end", "left")
        await see(s.pilot, "choice 4998")
        await s.press("ctrl+s")
        content = {"a": "a" * 60 + "!", "b": "choice 4998"}
        assert await s.ended() == [{"action": "accept", "content": content}]


async def test_a_schema_that_is_none_is_no_reason_to_fall(tmp_path: Path) -> None:
    schemas: list[dict[str, Any]] = [{}, {"properties": 3}, {"type": "object", "properties": {"a": 1, "b": None}}]
    async with stage(tmp_path) as s:
        board = chat(s.console).boards.human
        for number, schema in enumerate(schemas, 1):
            await s.ask("form", requestedSchema=schema)
            await until(s.pilot, lambda n=number: board.is_asking or sum(bool(one.outcome) for one in s.calls) == n)
            if board.is_asking:
                await s.come_to_the_board()
                await s.press("n")
            assert len(await s.ended()) == number
