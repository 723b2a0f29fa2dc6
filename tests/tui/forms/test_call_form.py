"""A tool is called by hand: the form of its schema, its mistakes beside the fields, several calls at once, no model."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from textual.pilot import Pilot

from console_app.domain.ports import CallReporter, Invocation
from console_app.domain.schema.forms import form_of, parse_scalar
from console_app.domain.tools import ToolSpec
from console_app.tui.app import FanoutApp
from console_app.tui.asking.form_dialogs import CallForm, EarlierCalls
from tests.each import each
from tests.tui.parts import Tools, WrittenModel, app, at_rest, calls, chat, echo, enter, say, see, seen, until

FORECAST = {
    "type": "object",
    "required": ["city", "unit"],
    "properties": {
        "city": {"type": "string", "description": "Where"},
        "unit": {"enum": ["celsius", "kelvin"]},
        "days": {"type": "integer", "minimum": 1, "maximum": 14, "default": 3},
        "hourly": {"type": "boolean"},
        "place": {
            "type": "object",
            "properties": {"lat": {"type": "number"}, "lon": {"type": "number"}},
            "required": ["lat", "lon"],
        },
        "tags": {"type": "array", "items": {"type": "string"}},
        "notes_markdown": {"type": "string", "description": "as Markdown"},
    },
}
HOSTILE = "[/red][@click=app.quit]x[/]\x1b]52;c;eA==\x07\u202e"
SHOWN = "[/red][@click=app.quit]x[/]␛]52;c;eA==␇<U+202E>"


class Tooled(Tools):
    """Tools with schemas."""

    schemas: dict[str, dict[str, Any]]

    def tools(self) -> list[ToolSpec]:
        return [spec.model_copy(update={"input_schema": self.schemas.get(spec.label, {})}) for spec in super().tools()]


def console(folder: Path, **schemas: dict[str, Any]) -> FanoutApp:
    tools = Tooled({("weather", "forecast"): echo, ("calc", "add"): echo}, read_only=False)
    tools.schemas = {"weather.forecast": FORECAST, "calc.add": {"type": "object", "properties": {}}} | {
        name.replace("_", "."): schema for name, schema in schemas.items()
    }
    return app(folder, WrittenModel(), tools, calls_path=folder / "calls.json")


async def broken(_invocation: Invocation, _reporter: CallReporter) -> str:
    raise ValueError("it is broken")


async def opened(pilot: Pilot[Any], label: str = "weather.forecast") -> None:
    await enter(pilot, f"/call {label}")
    await until(pilot, lambda: isinstance(pilot.app.screen, CallForm))
    await pilot.pause()


def ran(console_app: FanoutApp) -> list[dict[str, Any] | None]:
    return [call.arguments for call in chat(console_app).ui.shown.transcript.calls.values() if call.outcome is not None]


async def test_a_filled_in_form_runs_without_a_model(tmp_path: Path) -> None:
    console_app = console(tmp_path)
    async with console_app.run_test(size=(110, 45)) as pilot:
        await opened(pilot)
        await pilot.press(*"Oslo", "tab", "right", "right", "tab", "tab", "right", "ctrl+s")
        await until(pilot, lambda: bool(ran(console_app)))
        assert ran(console_app) == [{"city": "Oslo", "unit": "kelvin", "days": 3, "hourly": True}]
        await see(pilot, "✓ forecast  Oslo  unit=kelvin")
        await until(pilot, lambda: not chat(console_app).console.conversation.busy)
        engine = chat(console_app).services.engine
        assert [message.role for message in engine.history] == ["user", "assistant", "tool"]
        assert isinstance(engine.provider, WrittenModel)
        assert engine.provider.requests == []


async def test_what_is_wrong_is_said_beside_its_field_and_nothing_runs(tmp_path: Path) -> None:
    console_app = console(tmp_path)
    async with console_app.run_test(size=(110, 45)) as pilot:
        await opened(pilot)
        await pilot.press("tab", "tab", *"99")
        await see(pilot, "must be at most 14")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: seen(console_app).count("✗ required") == 2)
        assert chat(console_app).ui.shown.transcript.calls == {}
        await pilot.press(*"Lima")  # the cursor went to the first mistake
        await until(pilot, lambda: seen(console_app).count("✗ required") == 1)


async def test_objects_and_lists_in_the_form(tmp_path: Path) -> None:
    console_app = console(tmp_path)
    async with console_app.run_test(size=(110, 60)) as pilot:
        await opened(pilot)
        await pilot.press(*"Oslo", "tab", "right", "tab", "tab", "tab", *"59.9", "ctrl+s")
        await see(pilot, "required")  # lon: half a place is none
        await pilot.press(*"10.7", "tab", "enter", *"a", "tab", "tab", "enter", *"b,c", "ctrl+s")
        await until(pilot, lambda: bool(ran(console_app)))
        assert ran(console_app) == [
            {"city": "Oslo", "unit": "celsius", "days": 3, "place": {"lat": 59.9, "lon": 10.7}, "tags": ["a", "b,c"]}
        ]


async def test_json_in_place_of_the_form_and_back(tmp_path: Path) -> None:
    console_app = console(tmp_path)
    async with console_app.run_test(size=(110, 45)) as pilot:
        await opened(pilot)
        await pilot.press(*"Oslo", "f2")
        await see(pilot, '"city": "Oslo"')
        area = console_app.screen.query_one("TextArea")
        area.text = '{"city": "Oslo", '  # pyright: ignore[reportAttributeAccessIssue]
        await pilot.press("ctrl+s")
        await see(pilot, "is no JSON")
        area.text = '{"city": "Lima", "unit": "kelvin", "days": 5}'  # pyright: ignore[reportAttributeAccessIssue]
        await pilot.press("f2")
        await see(pilot, "● kelvin")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: bool(ran(console_app)))
        assert ran(console_app) == [{"city": "Lima", "unit": "kelvin", "days": 5}]


async def test_several_calls_are_sent_at_once(tmp_path: Path) -> None:
    console_app = console(tmp_path)
    async with console_app.run_test(size=(110, 45)) as pilot:
        await opened(pilot, "calc.add")
        await pilot.press("ctrl+n")
        await see(pilot, "1 call wait")
        await pilot.press(*"forecast", "enter")
        await see(pilot, "1 more call will run with it: calc.add")
        await pilot.press(*"Oslo", "tab", "right", "ctrl+s")
        await until(pilot, lambda: len(ran(console_app)) == 2)
        turn = chat(console_app).ui.shown.transcript.turns[0]
        assert len(turn.steps[0].batch.calls) == 2


async def test_earlier_calls_come_back(tmp_path: Path) -> None:
    earlier = EarlierCalls(tmp_path / "calls.json")
    earlier.add("weather.forecast", {"city": "Hanoi", "unit": "kelvin"})
    earlier.add("weather.forecast", {"city": "Quito", "unit": "celsius"})
    console_app = console(tmp_path)
    async with console_app.run_test(size=(110, 45)) as pilot:
        await opened(pilot)
        await pilot.press("ctrl+r")
        await see(pilot, "Quito")
        await pilot.press("down", "enter")
        await see(pilot, "● kelvin")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: bool(ran(console_app)))
        assert ran(console_app) == [{"city": "Hanoi", "unit": "kelvin"}]


async def test_escape_runs_nothing(tmp_path: Path) -> None:
    console_app = console(tmp_path)
    async with console_app.run_test(size=(110, 45)) as pilot:
        await opened(pilot)
        await pilot.press(*"Oslo", "escape")
        await until(pilot, lambda: len(console_app.screen_stack) == 1)
        assert chat(console_app).ui.shown.transcript.calls == {}


async def test_a_call_typed_whole_runs_at_once_and_a_wrong_one_is_said(tmp_path: Path) -> None:
    console_app = console(tmp_path)
    async with console_app.run_test(size=(110, 30)) as pilot:
        await enter(pilot, '/call calc.ad {"a": 1}')
        await see(pilot, "Did you mean calc.add?")
        assert chat(console_app).prompt.text == '/call calc.ad {"a": 1}'  # it came back, to be mended
        await pilot.press("ctrl+u")
        await enter(pilot, '/call calc.add {"a": 1} weather.forecast {}')
        await until(pilot, lambda: len(ran(console_app)) == 2)


async def test_a_turn_whose_calls_failed_does_not_end_as_done(tmp_path: Path) -> None:
    tools = Tools({("lab", "good"): echo, ("lab", "bad"): broken})
    model = WrittenModel(
        calls(("lab_bad", "{}")), say("It is broken."), calls(("lab_bad", "{}"), ("lab_good", "{}")), say("One is.")
    )
    console_app = app(tmp_path, model, tools)
    async with console_app.run_test(size=(110, 40)) as pilot:
        for typed, ending in (
            ("/call lab.good {}", "✓ done · "),
            ("/call lab.bad {}", "· 1 call did not succeed · "),
            ("/call lab.bad {} lab.good {} lab.bad {}", "· 2 calls did not succeed · "),
            ("now you", "· 1 call did not succeed · "),
            ("and you", "✓ done · "),  # one did, and the model has read what failed, and answered
        ):
            await enter(pilot, typed)
            await until(pilot, lambda: not chat(console_app).console.conversation.busy)
            await at_rest(pilot)
            ends = [
                line.strip()
                for line in seen(console_app).splitlines()
                if re.match(r"[✓✗·] (?:done|\d calls? did not succeed|failed) · ", line.strip())
            ]
            assert ends[-1].startswith(ending), (typed, ends)


async def test_a_hostile_schema_is_shown_as_text(tmp_path: Path) -> None:
    schema = {
        "type": "object",
        "properties": {
            HOSTILE: {"type": "string", "description": HOSTILE, "default": HOSTILE},
            "pick": {"enum": [HOSTILE, "b"]},
            "content": {"type": "string", "default": HOSTILE},
        },
    }
    console_app = console(tmp_path, calc_add=schema)
    async with console_app.run_test(size=(150, 50)) as pilot:
        await opened(pilot, "calc.add")
        await see(pilot, SHOWN)
        assert not any(c in seen(console_app) for c in "\x1b\x07\u202e")
        for y in range(console_app.size.height):
            for x in range(0, console_app.size.width, 3):
                assert "@click" not in console_app.screen.get_style_at(x, y).meta
        await pilot.press("ctrl+s")
        await until(pilot, lambda: bool(ran(console_app)))
        assert ran(console_app) == [{HOSTILE: HOSTILE, "content": HOSTILE}]


async def test_the_form_scrolls_in_a_small_terminal(tmp_path: Path) -> None:
    console_app = console(tmp_path)
    async with console_app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press(*["tab"] * 7)
        await see(pilot, "notes_markdown")
        await pilot.resize_terminal(60, 15)
        await pilot.press("shift+tab", "shift+tab", "tab", "tab")
        await see(pilot, "notes_markdown")


# The schema as fields


def test_detours_of_schemas_are_followed() -> None:
    form = form_of(
        {
            "$defs": {"Point": {"type": "object", "properties": {"x": {"type": "number"}}}},
            "type": "object",
            "properties": {
                "at": {"$ref": "#/$defs/Point"},
                "maybe": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                "also": {"type": ["integer", "null"]},
                "one": {"allOf": [{"$ref": "#/$defs/Point"}], "description": "a point"},
                "either": {"anyOf": [{"type": "string"}, {"type": "number"}]},
                "fixed": {"const": "v1"},
            },
        }
    )
    kinds = {field.name: (field.kind, field.nullable) for field in form.fields}
    assert kinds == {
        "at": ("object", False),
        "maybe": ("text", True),
        "also": ("integer", True),
        "one": ("object", False),
        "either": ("json", False),
        "fixed": ("choice", False),
    }


def test_a_schema_that_contains_itself_ends_in_json() -> None:
    node = {"type": "object", "properties": {"child": {"$ref": "#/$defs/Node"}, "name": {"type": "string"}}}
    form = form_of({"$defs": {"Node": node}, "type": "object", "properties": {"root": {"$ref": "#/$defs/Node"}}})
    assert [field.kind for field in form.fields[0].fields] == ["json", "text"]


@each(
    ("schema", "text", "problem"),
    [
        ({"type": "integer"}, "1.5", "must be a whole number"),
        ({"type": "integer"}, "true", "must be a whole number"),
        ({"type": "number"}, "NaN", "must be a number"),
        ({"type": "number", "exclusiveMinimum": 0}, "0", "must be more than 0"),
        ({"type": "string", "minLength": 3}, "ab", "must be at least 3 characters"),
        ({"type": "string", "pattern": "^a"}, "b", "must match ^a"),
        ({"type": "string", "format": "email"}, "x", "must be an e-mail address"),
        ({"type": "integer"}, "12", ""),
        ({"type": "number"}, "1e3", ""),
    ],
)
def test_values_are_checked(schema: dict[str, Any], text: str, problem: str) -> None:
    field = form_of({"type": "object", "properties": {"x": schema}}).fields[0]
    assert parse_scalar(field, text)[1] == problem


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "properties", "items", "enum", "$ref", "anyOf", "required", "x"]), inner
        )
    ),
    max_leaves=12,
)


@given(
    st.dictionaries(st.sampled_from(["type", "properties", "$defs", "anyOf", "allOf", "$ref", "required"]), anything)
)
def test_no_schema_breaks_the_form(schema: dict[str, Any]) -> None:
    assert form_of(schema).kind in ("object", "json")


def test_a_history_that_can_not_be_read_is_empty(tmp_path: Path) -> None:
    for text in ("", "[]", '{"a.b": 3}', "{"):
        (tmp_path / "calls.json").write_text(text)
        assert EarlierCalls(tmp_path / "calls.json").of("a.b") == []
    earlier = EarlierCalls(tmp_path / "calls.json")
    for number in (1, 2, 1):
        earlier.add("a.b", {"n": number})
    assert earlier.of("a.b") == [{"n": 1}, {"n": 2}]
    assert json.loads((tmp_path / "calls.json").read_text()) == {"a.b": [{"n": 1}, {"n": 2}]}


async def test_a_tool_without_arguments_takes_no_more_of_the_screen_than_it_says_and_enter_runs_it(
    tmp_path: Path,
) -> None:
    console_app = console(tmp_path)
    async with console_app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, "calc.add")
        await see(pilot, "It takes no arguments.")
        assert pilot.app.screen.query_one("#box").size.height < 12
        await pilot.press("f2")
        await until(pilot, lambda: pilot.app.screen.query_one("#box").size.height > 16)
        await pilot.press("f2")
        await until(pilot, lambda: pilot.app.screen.query_one("#box").size.height < 12)
        await pilot.press("enter")
        await until(pilot, lambda: bool(ran(console_app)))
        assert ran(console_app) == [{}]
