"""Every JSON that a command prints is what `fanout schema` says of it, and a version keeps what it promised."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from console_app.command_line.json_outputs import OUTPUTS, schema
from tests.each import each
from tests.headless.inside import Inside

PROMISED = Path(__file__).with_name("promised_outputs.json")
PROMPT = "Calculate two things: (1) 355/113, (2) sqrt(2)"
TOOLS = '[{"name": "add", "parameters": {"type": "object", "properties": {"a": {"type": "number"}}}}]'
CALL = '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>'


@cache
def validator(name: str) -> jsonschema.Draft202012Validator:
    made = schema(name)
    jsonschema.Draft202012Validator.check_schema(made)
    return jsonschema.Draft202012Validator(made)


def holds(name: str, text: str, *, lines: bool = False) -> None:
    """Each JSON of `text` is what the schema says."""
    found = text.splitlines() if lines else [text]
    assert found
    for one in found:
        validator(name).validate(json.loads(one))


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("servers", ["mcp", "list"]),
        ("servers", ["mcp", "test", "calculator"]),
        ("server", ["mcp", "get", "calculator"]),
        ("importable", ["mcp", "import"]),
        ("doctor", ["doctor"]),
        ("models", ["models", "-m", "offline/rehearsal"]),
        ("themes", ["themes"]),
        ("keys", ["auth", "list"]),
        ("places", ["config", "path"]),
        ("settings", ["config", "show"]),
        ("settings", ["config", "show", "model", "--model", "offline/rehearsal"]),
        ("setting_list", ["config", "list"]),
        ("validation", ["config", "validate"]),
        ("schemas", ["schema"]),
    ],
)
def test_what_json_prints_is_what_the_schema_says(fanout: Inside, name: str, arguments: list[str]) -> None:
    fanout.write(
        "home/config.toml",
        '[rules]\ndeny = ["demo.*"]\n'
        '[providers.lab]\napi = "openai-chat"\nbase_url = "http://127.0.0.1:1/v1"\nheaders = {X = "y"}\n',
    )
    fanout.write("home/.cursor/mcp.json", '{"mcpServers": {"one": {"command": "true"}}}')
    done = fanout.run(*arguments, "--json", env={"HOME": str(fanout.home), "FANOUT_MODEL": "offline/rehearsal"})
    assert done.code in (0, 1, 2), done.err
    holds(name, done.out)


def test_a_run_a_call_and_a_text_that_holds_calls(fanout: Inside) -> None:
    holds("run", fanout.run("run", "--output-format", "json", PROMPT).out)
    failing = fanout.run("call", "--output-format", "json", "demo.fail", "{}", "calculator.evaluate", "{}")
    holds("run", failing.out)
    fanout.write("tools.json", TOOLS)
    holds("parse", fanout.run("parse", "--tools", "tools.json", stdin=CALL.encode()).out)
    case = json.dumps({"id": 7, "tools": json.loads(TOOLS), "text": CALL})
    holds("parse", fanout.run("parse", "--jsonl", stdin=f"{case}\nno json\n".encode()).out, lines=True)


def test_the_events_of_a_run_and_of_a_stored_session(fanout: Inside) -> None:
    streamed = fanout.run("run", "--output-format", "stream-json", PROMPT)
    holds("event", streamed.out, lines=True)
    listed = fanout.run("sessions", "list", "--jsonl").out
    holds("session", listed, lines=True)
    holds("hit", fanout.run("sessions", "search", "Calculate", "--jsonl").out, lines=True)
    session = json.loads(listed.splitlines()[0])["id"]
    for name, words in {"sessions": ["list"], "hits": ["search", "Calculate"], "events": ["show", session]}.items():
        whole = fanout.run("sessions", *words, "--json").out
        holds(name, whole)
        assert len(json.loads(whole)[name]) == len(fanout.run("sessions", *words, "--jsonl").out.splitlines())
    holds("hits", fanout.run("sessions", "search", "nowhere-to-be-found", "--json").out)
    holds("batches", fanout.run("batch", "status", "--json").out)
    holds("event", fanout.run("sessions", "show", session, "--jsonl").out, lines=True)
    holds("event", fanout.run("sessions", "export", session, "--format", "jsonl").out, lines=True)


def test_a_broken_configuration_is_a_report_too(fanout: Inside) -> None:
    fanout.write("home/config.toml", "model = \n")
    done = fanout.run("doctor", "--json")
    assert done.code == 1
    holds("doctor", done.out)


def test_fanout_schema_prints_each(fanout: Inside) -> None:
    listed = fanout.run("schema").out.splitlines()
    assert [line.split()[0] for line in listed] == [*OUTPUTS]
    for name, printed in OUTPUTS.items():
        shown = json.loads(fanout.run("schema", name).out)
        assert shown["$id"] == f"urn:fanout:output:{name}:{printed.version}"
    assert fanout.run("schema", "run", "event").code == 2


def paths(found: Any, definitions: Any, at: str = "", seen: tuple[str, ...] = ()) -> Iterator[str]:
    """Every field that a schema speaks of, as `servers[].name`."""
    if isinstance(found, list):
        for one in found:
            yield from paths(one, definitions, at, seen)
        return
    if not isinstance(found, dict):
        return
    if reference := found.get("$ref"):
        name = reference.rpartition("/")[2]
        if name not in seen:
            yield from paths(definitions[name], definitions, at, (*seen, name))
    for name, inner in found.get("properties", {}).items():
        kind = f"={inner['const']}" if name == "type" and "const" in inner else ""
        yield f"{at}{name}{kind}"
        yield from paths(inner, definitions, f"{at}{name}.", seen)
    yield from paths(found.get("items"), definitions, f"{at[:-1]}[]." if at else "[].", seen)
    for key in ("anyOf", "oneOf", "allOf"):
        yield from paths(found.get(key), definitions, at, seen)


@each("name", OUTPUTS)
def test_nothing_that_a_version_promised_is_gone(name: str) -> None:
    """Fields may be added freely. One that goes needs a new version, and its promise written anew."""
    promised = json.loads(PROMISED.read_text())[name]
    assert promised["version"] <= OUTPUTS[name].version
    if promised["version"] == OUTPUTS[name].version:
        made = schema(name)
        assert set(promised["fields"]) <= set(paths(made, made.get("$defs", {})))
