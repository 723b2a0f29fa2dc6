"""What a checkout's files say, however broken, stops no command before anybody trusted them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from console_app.command_line.commands import COMMANDS
from tests.program.process import Fanout
from tests.program.terminal import Terminal

DENIES = '[rules]\ndeny = ["calculator.*"]\n'
BROKEN = {
    "keys": f'{DENIES}[keys]\napprove = "enter"\n',
    "an unknown name": f"modle = 5\n{DENIES}",
    "a setting of a newer Fanout": f'{DENIES}[newer]\nwithin = {{ a = 1 }}\n[limits]\n"" = "x"\n',
    "a theme that is a number": f"theme = 5\nmax_steps = 0\n{DENIES}",
    "a rule that can't be read": '[rules]\ndeny = ["a.b(", "calculator.*", 5]\nallow = 3\nnewer = []\n',
    "bad TOML": "max_steps = = 3\n",
    "no UTF-8": b"\xff\xfe",
    "30 MB": b"#" * 30_000_000,
    "a pipe": None,
    "a device": "/dev/zero",
    "a folder": "/",
}
# These print what they have without a model, a server or a person.
READS = [
    (name, *(() if action.name == name else (action.name,)))
    for name, spec in COMMANDS.items()
    for action in spec.actions or (spec,)
    if (name, action.name)
    in {(name, "list"), ("models", name), ("themes", name), ("config", "show"), ("config", "path")}
]


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


CALL = ("call", "calculator.evaluate", '{"expression": "6*7"}')
LINES = [*READS, CALL, ("run", "-m", "offline/rehearsal", "6*7")]


@pytest.fixture(scope="module")
def without(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, ...], int]:
    fanout = Fanout(tmp_path_factory.mktemp("without"))
    return {words: fanout.run(*words).code for words in LINES}


@pytest.mark.parametrize("kind", BROKEN)
@pytest.mark.parametrize("name", [".fanout/config.toml", "mcp.json"])
def test_no_command_ends_of_it_and_the_file_is_named(
    tmp_path: Path, without: dict[tuple[str, ...], int], kind: str, name: str
) -> None:
    fanout = Fanout(tmp_path)
    put(fanout.cwd / name, BROKEN[kind])
    for words in LINES:
        done = fanout.run(*words)
        if name.endswith("toml") or words[0] in ("call", "run", "mcp"):
            assert 0 < sum(name in line for line in done.err.splitlines()) < 4, (words, done.err)
        if words == CALL and name.endswith("toml") and "calculator.*" in str(BROKEN[kind])[:99]:
            assert "A rule forbids it" in done.err, "a deny rule that can be read counts"
        else:
            assert done.code == without[words], (words, done.err)
    done = fanout.run("config", "validate")
    assert (done.code, name in done.err) == (2, True)


@pytest.mark.parametrize("kind", ["keys", "bad TOML", "a pipe"])
def test_the_console_opens_and_says_it(tmp_path: Path, kind: str) -> None:
    fanout = Fanout(tmp_path)
    put(fanout.cwd / ".fanout/config.toml", BROKEN[kind])
    environment = fanout.environment({"TERM": "xterm-256color"})
    argv = fanout.argv("-m", "offline/rehearsal")
    with Terminal(argv, env=environment, cwd=fanout.cwd, rows=30, columns=300) as terminal:
        terminal.expect(r"\.fanout/config\.toml")
        terminal.expect("Demo mode")


@pytest.mark.parametrize("kind", [kind for kind, content in BROKEN.items() if content is not None])
def test_a_users_own_file_that_is_broken_is_one_line(tmp_path: Path, kind: str) -> None:
    fanout = Fanout(tmp_path)
    put(fanout.home / "config.toml", f"{BROKEN[kind]}theme = = 5\n" if kind == "keys" else BROKEN[kind])
    done = fanout.run("config", "show")
    assert (done.code, done.out, len(done.err.splitlines())) == (2, "", 1), done.err
