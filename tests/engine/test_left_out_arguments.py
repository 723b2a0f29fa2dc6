"""Arguments that a tool doesn't have, or that only Fanout fills in: left out, said in the panel and to the model."""

from __future__ import annotations

from typing import Any

from console_app.domain import events as ev
from console_app.domain.tools import ToolSpec
from console_app.engine.calls.arguments import declared
from tests.each import each
from tests.engine.peers import Model, Tools, calls, engine_of, only, play, tool_texts
from tests.engine.strict_history import check_turn
from tests.engine.virtual_time import run

CLOSED = {"type": "object", "properties": {"n": {"type": "string"}, "do": {}}, "additionalProperties": False}


class Closed(Tools):
    def tools(self) -> list[ToolSpec]:
        return [spec.model_copy(update={"input_schema": CLOSED}) for spec in super().tools()]


def test_what_a_closed_schema_does_not_declare_is_left_out_and_told() -> None:
    async def scene() -> None:
        engine = engine_of(Model(calls({"n": "a", "mood": "good", "_atlas_user": "mallory"})), Closed())
        events = await play(engine)
        (ready,) = only(events, ev.CallReady)
        assert ready.arguments == {"n": "a"}
        assert ready.repaired == tuple(
            f"left out {name}, which is no argument of the tool" for name in ("mood", "_atlas_user")
        )
        assert tool_texts(engine)[0].startswith(
            "This call ran without arguments that the tool doesn't have: mood, _atlas_user."
        )
        check_turn(engine, events)

    run(scene)


@each(
    ("schema", "left"),
    [
        (CLOSED, {"n": 1}),
        (CLOSED | {"additionalProperties": True}, {"n": 1, "x": 2}),
        ({"type": "object"}, {"n": 1, "x": 2}),
        (CLOSED | {"patternProperties": {"^x": {}}}, {"n": 1, "x": 2}),
        (CLOSED | {"allOf": [{"properties": {"x": {}}}]}, {"n": 1, "x": 2}),
    ],
)
def test_only_a_closed_schema_leaves_out_more_than_what_is_never_the_models(
    schema: dict[str, Any], left: dict[str, Any]
) -> None:
    arguments = {"n": 1, "x": 2, "_mcp_data": {}, "_atlas_user": "mallory"}
    assert declared(schema, arguments)[0] == left
