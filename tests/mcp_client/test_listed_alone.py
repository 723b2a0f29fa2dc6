"""Whatever a server lists is judged alone: every field of the SDK's own models is broken once, at every depth.

What can be done without is dropped, the smallest part that will do; what can't leaves its own thing out. The models
themselves are walked here, so that one which the SDK changes is broken as it then is.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, get_args

from mcp_types import methods
from mcp_types.version import KNOWN_PROTOCOL_VERSIONS
from pydantic import TypeAdapter, ValidationError

from console_app.mcp_client import ServerState
from console_app.mcp_client.tools.cleaning import clean
from tests.each import each
from tests.examples import spread
from tests.mcp_client.conftest import SaidServer, StartHub
from tests.sdk_models import Path, arms, whole

VERSIONS = spread(KNOWN_PROTOCOL_VERSIONS, 2)  # all before the newest have the same models in the SDK
WRONG: tuple[Any, ...] = (7, "a word", [], {}, [["x"]], {"type": "odd"})
GONE = object()
LISTS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
    "prompts/get": "messages",
    "resources/read": "contents",
    "tools/call": "content",
}


def things(method: str, version: str) -> Iterator[tuple[str, Any, list[tuple[Path, bool]]]]:
    row = methods.SERVER_RESULTS[method, version]
    result = next(one for one in arms(row) if one.__name__ != "InputRequiredResult")
    fields = {field.alias or name: field for name, field in result.model_fields.items()}
    item = get_args(fields[LISTS[method]].annotation)[0]
    for arm in range(20):
        label = f"{method} {version} {arm}"
        value, parts = whole(item, arm)
        if arm and value == whole(item, arm - 1)[0]:
            break
        yield label, value, parts


CASES = [
    (method, version, value, path, free, parts)
    for method in LISTS
    for version in VERSIONS
    for _, value, parts in things(method, version)
    for path, free in parts
]


def answer(method: str, version: str, *listed: Any) -> dict[str, Any]:
    rest = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"} if version >= "2026" else {}
    return rest | {LISTS[method]: list(listed)}


def accepted(method: str, version: str, result: dict[str, Any]) -> bool:
    """Tell whether the SDK takes it for an answer, and not for a question."""
    try:
        methods.parse_server_result(method, version, copy.deepcopy(result))
        row = methods.SERVER_RESULTS[method, version]
        TypeAdapter(next(one for one in arms(row) if one.__name__ != "InputRequiredResult")).validate_python(
            result, by_name=False
        )
    except ValidationError:
        return False
    return True


def with_part(value: Any, path: Path, part: Any) -> Any:
    made = copy.deepcopy(value)
    at = made
    for step in path[:-1]:
        at = at[step]
    if part is GONE:
        del at[path[-1]]
    else:
        at[path[-1]] = part
    return made


def droppable(path: Path, parts: list[tuple[Path, bool]]) -> Path:
    """The smallest part around `path` that may go; () where that is the whole thing."""
    free = dict(parts)
    return next((path[:end] for end in range(len(path), 0, -1) if free[path[:end]]), ())


def test_every_kind_of_thing_is_walked() -> None:
    assert len(CASES) > 200 * len(VERSIONS)
    kinds = {case[2].get("type") for case in CASES if case[0] == "tools/call"}
    assert kinds == {"text", "image", "audio", "resource", "resource_link"}


@each(
    "method, version, value, path, free, parts",
    CASES,
    ids=lambda one: one if isinstance(one, str | tuple) else "",
)
def test_a_broken_field_costs_itself_alone(
    method: str, version: str, value: Any, path: Path, free: bool, parts: list[tuple[Path, bool]]
) -> None:
    sound = answer(method, version, value)
    assert accepted(method, version, sound)
    assert clean(method, version, sound) == (sound, [], [])
    for wrong in (*WRONG, GONE):
        broken = with_part(value, path, wrong)
        given = answer(method, version, value, broken, value)
        schema = broken.get("inputSchema") if isinstance(broken, dict) else None
        if accepted(method, version, given) or (isinstance(schema, dict) and "type" not in schema):
            continue  # a schema without a type is one of an object
        cleaned, left_out, dropped = clean(method, version, given)
        assert accepted(method, version, cleaned)
        before, *kept, after = cleaned[LISTS[method]]
        assert before == after == value
        if cut := droppable(path, parts):
            inside = [with_part(value, path, type(wrong)())] if isinstance(wrong, list | dict) and wrong else []
            assert kept[0] in (with_part(value, cut, GONE), *inside)
            assert dropped
            assert not left_out
        elif method in ("tools/call", "prompts/get", "resources/read"):
            assert "[a block " in str(kept[0]) or "[a part " in str(kept[0])
        else:
            assert not kept
            assert len(left_out) == 1
            assert str(path[0]) in left_out[0].reason


ODD: dict[str, dict[str, Any]] = {
    "annotations": {"annotations": "read only"},
    "icon": {"icons": ["icon.png"]},
    "support": {"execution": {"taskSupport": "sometimes"}},
    "untyped": {"outputSchema": {"properties": {}}},
    "listed": {"outputSchema": []},
    "meta": {"_meta": "none"},
}


async def test_odd_fields_of_every_kind_cost_neither_a_server_nor_their_neighbours(
    start_hub: StartHub, said_server: SaidServer
) -> None:
    tools = [{"name": name, "inputSchema": {"type": "object"}, **fields} for name, fields in ODD.items()]
    argument = {"name": "topic", "title": 7}
    lists = {
        "tools/list": {"tools": [*tools, {"name": "none"}]},
        "prompts/list": {
            "prompts": [{"name": "ask", "arguments": [argument, {"title": "nameless"}]}, {"title": "none"}]
        },
        "resources/list": {"resources": [{"uri": "a://b", "name": "b", "size": "much"}, {"name": "nowhere"}]},
        "resources/templates/list": {"resourceTemplates": [{"name": "t"}, {"uriTemplate": "a://{b}", "name": "u"}]},
        "prompts/get": {"messages": [{"role": "judge", "content": "a text"}], "description": 7},
        "resources/read": {"contents": [{"uri": "a://b", "text": 7}, {"uri": "a://b", "text": "sound", "mimeType": 7}]},
    }
    bench = await start_hub(said_server({method: {"result": result} for method, result in lists.items()}))
    await bench.hub.connection("odd").listed()
    status = bench.status()
    assert status.state is ServerState.READY
    assert [spec.tool for spec in bench.hub.tools()] == list(ODD)
    assert [(one.name, one.reason) for one in status.rejected] == [("none", "it has no inputSchema")]
    assert status.problems == (
        "the prompt number 2 is left out: it has no name",
        "the resource nowhere is left out: it has no uri",
        "the resource template t is left out: it has no uriTemplate",
    )
    (prompt,) = bench.hub.prompts()
    assert [one.name for one in prompt.arguments] == ["topic"]
    (message,) = await bench.hub.get_prompt(prompt, {})
    assert message.text == '[a block without a type: "a text"]'
    assert [one.text for one in await bench.hub.read_resource("odd", "a://b")] == [
        '[a part that can\'t be read (its text is not a text): {"uri": "a://b", "text": 7}]',
        "sound",
    ]


def test_a_reason_says_all_that_would_do() -> None:
    tool = {"name": "do", "inputSchema": {"type": "object"}, "execution": {"taskSupport": "whenever"}}
    resource = {"name": "page", "uri": "a://b", "size": "large"}
    told = [
        dropped.reason
        for method, thing in (("tools/list", tool), ("resources/list", resource))
        for dropped in clean(method, "2025-11-25", answer(method, "2025-11-25", thing))[2]
    ]
    assert told == [
        "its execution.taskSupport is not 'forbidden', 'optional' or 'required'",
        "its size is not an integer",
    ]
