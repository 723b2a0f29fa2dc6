"""Schemas that cost more than they say: too large, too deep, doubling, endless, with patterns that take for ever.

Each costs its own tool or result at most. What would take for ever here would end no test: the whole file has no clock.
"""

from __future__ import annotations

import asyncio
from typing import Any

from jsonschema.validators import validator_for

from console_app.domain.schema.forms import Field, form_of
from console_app.domain.tools import Outcome
from console_app.mcp_client import ServerState
from console_app.mcp_client.offering.reading import MOST_LISTED
from console_app.mcp_client.tools.schemas import check_schema, judged
from console_app.textcalls.model import ToolSignature
from console_app.textcalls.tool_schemas import ToolSchemas
from tests.each import each
from tests.mcp_client.conftest import StartHub, faulty
from tests.mcp_client.fixtures.hostile_schemas import EVIL, GIVEN, OUTPUTS, TOOLS
from tests.patience import PATIENCE

OFFERED = ["wide", "doubling", "fields", "itself", "pattern"]
LEFT_OUT = {
    "large": "its inputSchema is larger than 1,000,000 characters",
    "many": "its inputSchema is larger than 1,000,000 characters",
    "abyss": "its inputSchema is nested more than 120 levels deep",
}


async def test_a_schema_that_costs_too_much_costs_its_own_tool_alone(start_hub: StartHub) -> None:
    bench = await start_hub(faulty("hostile-schemas", timeout=PATIENCE), faulty("plain", name="other"))
    left_out = {tool.name: tool.reason for tool in bench.status("odd").rejected}
    assert left_out.pop("long_pattern").startswith("its inputSchema")
    assert left_out == LEFT_OUT
    offered = [spec.tool for spec in bench.hub.tools() if spec.server == "odd"]
    assert offered == ["good", *OFFERED, *(f"gives_{name}" for name in OUTPUTS), "gives_wrong"]
    assert (await bench.call("work", server="other")).outcome is Outcome.SUCCEEDED


async def test_a_result_is_judged_within_a_bound_by_whatever_schema_its_tool_has(start_hub: StartHub) -> None:
    tools = ("good", *(f"gives_{name}" for name in OUTPUTS))
    bench = await start_hub(faulty("hostile-schemas", *tools, timeout=PATIENCE))
    for name in OUTPUTS:
        result, other = await asyncio.gather(bench.call(f"gives_{name}"), bench.call("good"))
        assert (result.outcome, other.outcome) == (Outcome.SUCCEEDED, Outcome.SUCCEEDED), name
        assert result.structured is not None
        assert result.structured["text"] == GIVEN["text"]


async def test_a_result_that_is_not_what_its_tool_said_counts_and_says_so(start_hub: StartHub) -> None:
    bench = await start_hub(faulty("hostile-schemas", "gives_wrong", timeout=PATIENCE))
    result = await bench.call("gives_wrong")
    assert result.outcome is Outcome.SUCCEEDED
    assert "is not of type 'integer'" in result.remark


async def test_a_listing_over_the_limit_is_a_line_about_its_server_and_the_others_work(start_hub: StartHub) -> None:
    bench = await start_hub(faulty("huge-listing"), faulty("plain", name="other"))
    status = bench.status("odd")
    assert status.state is ServerState.FAILED
    assert "32 MB" in status.reason
    assert (await bench.call("work", server="other")).outcome is Outcome.SUCCEEDED


async def test_a_server_without_end_to_its_tools_is_read_to_a_number_of_them(start_hub: StartHub) -> None:
    bench = await start_hub(faulty("endless-tools"))
    assert len(bench.hub.tools()) == MOST_LISTED
    assert [tool.reason for tool in bench.status().rejected] == ["its server lists more than 5,000 tools"]


def test_what_a_schema_says_of_a_value_is_judged_as_the_library_does() -> None:
    schema = {"properties": {"n": {"type": "integer"}, "name": {"pattern": "^[a-z]+$"}}, "additionalProperties": False}
    assert judged(schema, {"n": 1, "name": "abc"}) == ""
    assert judged(schema, {"n": "1"}) == "'1' is not of type 'integer'"
    assert judged(schema, {"name": "ABC"}) == "'ABC' does not match '^[a-z]+$'"
    assert judged(schema, {"more": 1}) == "Additional properties are not allowed ('more' was unexpected)"
    referred = {"$defs": {"item": {"type": "string"}}, "properties": {"items": {"items": {"$ref": "#/$defs/item"}}}}
    assert judged(referred, {"items": ["a", 2]}) == "2 is not of type 'string'"
    assert (
        judged({"properties": {"items": {"uniqueItems": True}}}, {"items": [1, 1]}) == "[1, 1] has non-unique elements"
    )
    assert judged({"patternProperties": {"^a": {"type": "null"}}}, {"ab": 1}) == "1 is not of type 'null'"


WORDS: dict[str, tuple[Any, ...]] = {
    "type": ("string", ["string", "null"], [], ["null", "null"], ["text"], 1),
    "required": (["a"], ["a", "a"], [1], True),
    "properties": ({"a": {"minimum": 1}}, {"a": {"minimum": "1"}}, [], {"a": 1}),
    "$defs": ({"a": True}, {"a": 1}, 1),
    "items": ({"type": "null"}, {"type": "none"}, True, 1),
    "additionalProperties": (False, {"anyOf": []}, "no"),
    "anyOf": ([{}], [True], [], [1], {}),
    "oneOf": ([{"$ref": "#"}], [{"$ref": 1}]),
    "allOf": ([{}], "all"),
    "minimum": (1, 1.5, True, "1"),
    "exclusiveMaximum": (0, False),
    "minLength": (0, 1, -1, True, 1.5, 2.0),
    "maxItems": (3, -3, None),
    "uniqueItems": (True, 1),
    "examples": ([1], 1),
    "enum": ([1, "a", None], "a"),
    "const": (None, {"a": [1]}),
    "default": (1,),
    "format": ("date", 1),
    "title": ("A title", None),
    "$schema": ("http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema", 1),
}


@each("word, value", [(word, value) for word, values in WORDS.items() for value in values])
def test_a_schema_is_taken_or_refused_as_the_library_does(word: str, value: Any) -> None:
    for schema in ({"type": "object", word: value}, {"properties": {"inner": {word: value}}}):
        try:
            validator_for(schema).check_schema(schema)
        except Exception:
            assert check_schema(schema)
        else:
            assert check_schema(schema) == ""


@each("name", OFFERED)
def test_every_reader_of_a_schema_is_done_with_it(name: str) -> None:
    schema = TOOLS[name]["inputSchema"]

    def count(field: Field) -> int:
        return 1 + sum(map(count, field.fields)) + (count(field.item) if field.item else 0)

    assert count(form_of(schema)) < 4_000
    schemas = ToolSchemas([ToolSignature(name, schema)])
    for key in schema["properties"]:
        schemas.types(name, key)
        schemas.typed(name, key, EVIL)
        schemas.fitted(name, key, {"a": ["b", {"c": "d"}]})
    if name == "pattern":
        assert form_of(schema).fields[0].problem("a" * 40 + "!") == ""
