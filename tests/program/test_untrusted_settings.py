"""The files of a checkout, however broken, stop no command before anybody trusted them."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.each import each
from tests.examples import EXPLORING
from tests.headless.inside import Inside, process_restored
from tests.program.process import Done, Fanout
from tests.program.terminal import Terminal
from tests.providers.live_endpoint import LiveEndpoint
from tests.security.every_command import ENDING, lines, prepare
from tests.wire_server import WireServer

DENIES = '[rules]\ndeny = ["calculator.*"]\n'
BROKEN = {
    "keys": f'{DENIES}[keys]\napprove = "enter"\n',
    "an unknown name": f"modle = 5\n{DENIES}",
    "a setting of a newer Fanout": f'{DENIES}[newer]\nwithin = {{ a = 1 }}\n[limits]\n"" = "x"\n',
    "a theme that is a number": f"theme = 5\nmax_steps = 0\n{DENIES}",
    "a rule that can't be read": '[rules]\ndeny = ["a.b(", "calculator.*", 5]\nallow = 3\nnewer = []\n',
    "tiny limits": f"timeout = 0.0001\nmax_turn_tokens = 1\nmax_steps = 1\ncall_timeout = 0.001\n{DENIES}",
    "bad TOML": "max_steps = = 3\n",
    "no UTF-8": b"\xff\xfe",
    "30 MB": b"#" * 30_000_000,
    "a pipe": None,
    "a device": "/dev/zero",
    "a folder": "/",
}


@pytest.fixture
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Iterator[Inside]:
    with process_restored():
        yield Inside(tmp_path, monkeypatch, capfd)


def newest_session(fanout: Fanout) -> str:
    """Return its id."""
    listed: Done = fanout.run("sessions", "list", "--jsonl")
    return json.loads(listed.out.splitlines()[0])["id"]


def put(path: Path, content: str | bytes | None) -> None:
    path.parent.mkdir(exist_ok=True)
    match content:
        case None:
            os.mkfifo(path)
        case str() if content.startswith("/"):
            path.symlink_to(content)
        case str():
            path.write_text(content)
        case bytes():
            path.write_bytes(content)


TOOL = "calculator.evaluate"
CALLS = {"call", "batch"}  # a rule that denies ends these
SAYS_IT = {"config validate": 2, "mcp trust": 2, "trust": 2}  # it is what they are asked for
NO_FILES = {"a pipe", "a device", "a folder"}  # there is nothing in them to trust
READ_NO_SETTINGS = {"parse", "schema", "completion", "man", "config edit", "config set", "config unset"}
READ_SERVERS = {"run", "call", "mcp list", "mcp test"}


# These take most of the time, and read the files as the others do: each kind of file meets some of them.
DEAR = [("batch", "diff"), ("doctor",), ("endpoint test",), ("program", "parse"), ("sessions export",)]


def commands_for(kind: str) -> list[str]:
    """Return the commands that meet this kind of file: a third of those that end by themselves, and in `make explore`
    all but two thirds of `DEAR`. Commands of one first word have their turn together, as one finds what another
    left."""
    number, dear = list(BROKEN).index(kind), {name: turn for turn, names in enumerate(DEAR) for name in names}
    families = list(dict.fromkeys(name.split()[0] for name in ENDING if name not in dear))

    def has_its_turn(name: str) -> bool:
        turn = dear[name] if name in dear else families.index(name.split()[0])
        return (number + turn) % 3 == 0 or (EXPLORING and name not in dear)

    return [name for name in ENDING if name in ("run", "call") or has_its_turn(name)]


def done_by(fanout: Inside, monkeypatch: pytest.MonkeyPatch, names: Iterable[str]) -> dict[str, list[Done]]:
    """Run these commands, one after the other, and return their ends."""
    prepare(fanout, TOOL)
    found, session = dict[str, list[Done]](), ""
    with WireServer(LiveEndpoint()) as endpoint:
        url = endpoint.base_url("openai-chat")
        for name in names:
            if name.startswith("sessions") and not session:
                session = newest_session(fanout)
            monkeypatch.setattr(sys, "stdin", io.StringIO("a-key-that-is-typed\n" if name == "auth set" else ""))
            words = lines(name, session=session, server="calculator", tool=TOOL, url=url)
            found[name] = [fanout.run(*one, env={"EDITOR": "true"}) for one in words]
    return found


EXIT_CODES = dict[tuple[str, ...], dict[str, list[int]]]()


@pytest.fixture
def without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], kind: str
) -> dict[str, list[int]]:
    """The exit codes of the same commands without such a file, found once: one depends on what another left."""
    if (names := tuple(commands_for(kind))) not in EXIT_CODES:
        (tmp_path / "without").mkdir()
        with process_restored():
            done = done_by(Inside(tmp_path / "without", monkeypatch, capfd), monkeypatch, names)
        EXIT_CODES[names] = {name: [one.code for one in dones] for name, dones in done.items()}
    return EXIT_CODES[names]


@pytest.mark.parametrize("kind", BROKEN)
def test_no_command_ends_of_it_and_the_file_is_named(
    inside: Inside, monkeypatch: pytest.MonkeyPatch, without: dict[str, list[int]], kind: str
) -> None:
    settings, servers = ".fanout/config.toml", "mcp.json"
    for name in (settings, servers):
        put(inside.cwd / name, BROKEN[kind])
    asked = SAYS_IT if kind not in NO_FILES else {**SAYS_IT, "trust": 0}
    denies = "calculator.*" in str(BROKEN[kind])[:99]
    for command, dones in done_by(inside, monkeypatch, commands_for(kind)).items():
        read = {settings: command not in READ_NO_SETTINGS, servers: command in READ_SERVERS}
        for done, code in zip(dones, without[command], strict=True):
            for name in filter(read.get, read):
                if kind == "tiny limits" and name == settings:
                    continue  # a sound file is named where settings are read
                assert 0 < sum(name in line for line in done.err.splitlines()) < 4, (command, done.err)
            if command in CALLS and denies:
                assert done.code == (code if command == "batch" else 1), (command, done.err)
            else:
                assert done.code == asked.get(command, code), (command, done.err)


@each("kind", ["keys", "bad TOML", "a pipe"])
def test_the_console_opens_and_says_it(tmp_path: Path, kind: str) -> None:
    fanout = Fanout(tmp_path)
    put(fanout.cwd / ".fanout/config.toml", BROKEN[kind])
    environment = fanout.environment({"TERM": "xterm-256color"})
    argv = fanout.argv("-m", "offline/rehearsal")
    with Terminal(argv, env=environment, cwd=fanout.cwd, rows=30, columns=300) as terminal:
        terminal.expect(r"\.fanout/config\.toml")
        terminal.expect("A scripted model answers")


@each("kind", [kind for kind, content in BROKEN.items() if content is not None and kind != "tiny limits"])
def test_a_users_own_file_that_is_broken_is_one_line(tmp_path: Path, kind: str) -> None:
    fanout = Fanout(tmp_path)
    put(fanout.home / "config.toml", f"{BROKEN[kind]}theme = = 5\n" if kind == "keys" else BROKEN[kind])
    done = fanout.run("config", "show")
    assert (done.code, done.out, len(done.err.splitlines())) == (2, "", 1), done.err
