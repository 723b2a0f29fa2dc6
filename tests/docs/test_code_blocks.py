"""Code in the pages is code that works: blocks parse, every `fanout` line is one, every name named is there."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import subprocess
import tomllib
from typing import Any

import pytest
from pydantic import ValidationError

from console_app.command_line import parse_arguments
from console_app.command_line.json_outputs import schema
from console_app.config.settings import Settings
from console_app.config.settings.model import Rules
from console_app.console.intents import INTENTS
from tests.docs.made import live_help
from tests.docs.markdown import Block, blocks, codes

ALL = list(blocks())
OPERATORS = {"|", "<", ">", ">>", "&&", ";", "2>", "||"}
SCRIPTS = {"answer", "rate", "repeat", "when"}  # keys of a script for the offline model, not of the configuration


def of(language: str) -> list[Any]:
    found = [block for block in ALL if block.language == language]
    assert found
    return [pytest.param(block, id=block.place) for block in found]


def bindings() -> set[str]:
    """Return all names that can stand in `[keys]`."""
    return {one for section in asyncio.run(live_help()) for ids in section.ids for one in ids}


def commands(line: str) -> list[list[str]]:
    """The arguments of each `fanout` that a line of a shell runs."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|<>&;")
    lexer.whitespace_split = True
    words = list(lexer)
    found: list[list[str]] = []
    for number, word in enumerate(words):
        if word == "fanout" and (number == 0 or words[number - 1] in OPERATORS or words[0] in ("xargs", "make")):
            rest = words[number + 1 :]
            end = next((at for at, one in enumerate(rest) if one in OPERATORS), len(rest))
            found.append(rest[:end])
    return found


def refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Return the parser's objection to them; "" when it takes them."""
    try:
        parse_arguments(arguments)
    except SystemExit as ended:
        said = capsys.readouterr().err
        return said if ended.code else ""
    return ""


@pytest.mark.parametrize("block", of("sh"))
def test_a_shell_block_is_one_and_its_fanout_lines_are_taken(block: Block, capsys: pytest.CaptureFixture[str]) -> None:
    checked = subprocess.run(["bash", "-n"], input=block.text, text=True, capture_output=True, check=False)
    assert checked.returncode == 0, checked.stderr
    for line in block.text.replace("\\\n", " ").splitlines():
        for arguments in commands(line):
            assert refused(arguments, capsys) == "", line


@pytest.mark.parametrize("block", of("json"))
def test_a_json_block_is_json(block: Block) -> None:
    json.loads(block.text)


@pytest.mark.parametrize("block", of("toml"))
def test_a_toml_block_is_toml_and_its_settings_exist(block: Block) -> None:
    table = tomllib.loads(block.text)
    if SCRIPTS & table.keys() or block.page.name == "scripts.md":
        return
    Rules.model_validate(table.pop("rules", {}))
    try:
        read = Settings.model_validate(table)
    except ValidationError as error:
        pytest.fail(str(error))
    ids = bindings()
    assert read.keys.keys() <= ids


def test_a_fanout_line_within_a_sentence_is_taken(capsys: pytest.CaptureFixture[str]) -> None:
    wrong: list[str] = []
    for page, text in codes():
        if re.match(r"fanout( |$)", text) and not re.search(r"[\[\]|…]|\.\.\.$|'frob'", text):
            arguments = shlex.split(text)[1:]
            bare = len(arguments) <= 2 and all(re.fullmatch("[a-z-]+", one) for one in arguments)
            said = refused([*arguments, *(["--help"] if bare else [])], capsys)  # a name alone speaks of a command
            if "expected one argument" in said:  # an option alone speaks of the option
                said = refused([*arguments, "1"], capsys)
            wrong += [f"{page.name}: {text}: {said}"] if said else []
    assert wrong == []


def test_a_slash_command_that_is_named_exists() -> None:
    """On some face: what the screen has under a key is a command of the line console."""
    known = set(INTENTS)
    named = {
        (page.name, match[1]) for page, text in codes() if (match := re.fullmatch(r"/([a-z]+)( [A-Z\[].*)?", text))
    }
    assert len(named) > 20
    assert [(page, name) for page, name in sorted(named) if name not in {*known, "review"}] == []  # one's own


def test_a_variable_that_is_named_exists() -> None:
    others = {"HOME", "SETTING", "FILES", "ORDERS", "SEARCH_URL", "SEARCH_PRIVATE", "SERVER_OF", "SERVE_TOKEN"}
    others |= {"SHELL_NETWORK", "SHELL_READS", "SHELL_SANDBOX"}
    known = {f"FANOUT_{name}" for name in (*others, *(name.upper() for name in Settings.model_fields))}
    named = {one for _, text in codes() for one in re.findall(r"FANOUT_[A-Z_]+\b", text)}
    named |= {one for block in ALL for one in re.findall(r"FANOUT_[A-Z_]+\b", block.text)}
    assert named
    assert named - known == set()


def test_a_binding_in_the_pages_exists() -> None:
    ids = bindings()
    places = {one.partition(".")[0] for one in ids}
    named = {text.strip('"') for _, text in codes() if re.fullmatch(r'"?[a-z]+\.[a-z_0-9]+"?', text)}
    files = (".py", ".md", ".json", ".db")
    named = {one for one in named if one.partition(".")[0] in places and not one.endswith(files)}
    events = {
        shape["properties"]["type"]["const"]
        for shape in schema("event")["$defs"].values()
        if "type" in shape.get("properties", {}) and "const" in shape["properties"]["type"]
    }
    assert "panel.cancel" in named
    assert named - ids - events == set()
