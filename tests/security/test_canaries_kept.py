"""What a server is shown as is clean from its birth, and each command hides what any mcp.json in force holds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from console_app.command_line.commands import COMMANDS, CommandSpec
from console_app.config.servers.mcp_servers import read_mcp_config
from console_app.config.servers.server_identity import identity_of
from console_app.sessions.export import FORMATS, MOVING
from tests.program.process import Fanout
from tests.security.canaries import CANARIES, VARIABLES_SET, files, leaks, servers
from tests.security.test_canaries import calls, printed
from tests.wire_bytes import Answer, Text
from tests.wire_server import WireServer

# A word of each kind that the table's commands take. These wait for a person, a peer or items, and have tests of their
# own; `remove`, `delete`, `set`, `unset` and `edit` change what the others are to read.
WORDS = {"server": "spy", "session": "", "setting": "providers", "tool": "spy.fails", "command": "mcp", "output": "run"}
ELSEWHERE = {"serve", "acp", "batch", "run", "remove", "delete", "set", "unset", "edit", "auth", "completion"}


def command_lines() -> list[tuple[str, tuple[str, ...], CommandSpec]]:
    pairs = [(name, action) for name, spec in COMMANDS.items() for action in spec.actions or (spec,)]
    lines = [((name, spec.name) if spec.name != name else (name,), spec) for name, spec in pairs]
    return [(" ".join(words), words, spec) for words, spec in lines if not ELSEWHERE & {words[0], words[-1]}]


@pytest.mark.parametrize("name", servers(Path("x"), "h"))
def test_the_text_of_an_identity_holds_no_secret_and_its_digest_knows_each_word(tmp_path: Path, name: str) -> None:
    def found(text: str) -> tuple[str, str]:
        (server,) = read_mcp_config(text, tmp_path / "mcp.json", {}).servers
        identity = identity_of(server, tmp_path)
        return identity.text, identity.digest

    entry = servers(tmp_path / "spy.py", "127.0.0.1:9")[name]
    written = json.dumps({name: entry}, ensure_ascii=False)
    text, digest = found(written)
    assert leaks({"text": text.encode()}) == []
    words = json.dumps([entry.get("args", []), entry.get("url", "")], ensure_ascii=False)
    for secret in CANARIES:
        if secret in words:
            again, other = found(written.replace(secret, secret[::-1]))
            assert (again, other != digest) == (text, True), "another secret may be another program"


def test_words_that_hold_a_secret_elsewhere_in_the_entry_are_clean_too(tmp_path: Path) -> None:
    secret = CANARIES[12]
    entry = {"command": "serve", "args": ["a b", f"--dsn=x:{secret}", secret], "env": {"MY_TOKEN": secret}}
    (server,) = read_mcp_config(json.dumps({"one": entry}), tmp_path / "mcp.json", {}).servers
    assert secret not in identity_of(server, tmp_path).text
    assert "serve 'a b'" in identity_of(server, tmp_path).text


def test_a_session_under_a_rule_is_clean_on_every_way_out(fanout: Fanout) -> None:
    own = fanout.home / "config.toml"
    own.write_text(f'{own.read_text()}\n[rules]\nallow = ["spy.*"]\n')
    with WireServer() as server:
        env = {**VARIABLES_SET, "OPENAI_BASE_URL": server.base_url("openai-chat")}
        server.script(calls(), Answer(Text(f"Seen: {CANARIES[12]}.")))
        done = fanout.run("run", "--output-format", "stream-json", "-m", "openai/m", "--", "go", env=env)
        assert done.code == 0, done.err
    stored = {
        name: data for name, data in files(fanout).items() if "sessions" not in name
    }  # the answer is kept as said
    assert any(name.endswith("rules.json") for name in stored)
    assert leaks(stored) == []
    (identity,) = [event for event in done.events if event["type"] == "notice" and "stands for" in event["text"]][:1]
    assert leaks({"notice": json.dumps(identity, ensure_ascii=False).encode()}) == []

    session, named = done.events[0]["session_id"], dict[str, bytes]()
    for form in (*FORMATS, *MOVING):
        exported = fanout.run("sessions", "export", session, "--format", form, "--speed", "99", env=VARIABLES_SET)
        assert exported.code == 0, exported.err
        named |= printed(form, exported)
    for name, words, spec in command_lines():
        if spec.words is not None and spec.words.completes in WORDS:
            words += (WORDS[spec.words.completes] or session,)
        if words[:2] != ("sessions", "show"):  # what was said is shown as it was said
            named |= printed(name, fanout.run(*words, env=VARIABLES_SET))
    assert leaks(named) == []
