"""The words for a server are clean from its birth, and each command hides what any mcp.json in force holds."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote

import pytest

from console_app.config.files import Paths
from console_app.config.secrets import secret_sources as ss
from console_app.config.servers import ServerConfig, read_mcp_config
from console_app.config.settings import Settings
from console_app.sessions.export import FORMATS, MOVING
from tests.each import each
from tests.examples import turns
from tests.patience import PATIENCE
from tests.program.process import Done, Fanout
from tests.providers.live_endpoint import LiveEndpoint
from tests.security.canaries import (
    ARGUMENTS,
    AUTH,
    CANARIES,
    CONFIG,
    HEADERS,
    KEPT,
    ODD_ENV,
    PLAIN_ENV,
    URLS,
    VARIABLES,
    VARIABLES_SET,
    config,
    echo,
    files,
    leaks,
    servers,
)
from tests.security.conftest import full_of_secrets
from tests.security.every_command import ENDING, LEAVES, RUNNING, lines, prepare
from tests.security.test_canaries import calls, printed
from tests.security.test_sockets_of_commands import Watch
from tests.wire_bytes import Answer, Call, Text
from tests.wire_server import Reply, Request, WireServer


@each("name", servers(Path("x"), "h"))
def test_the_text_of_an_identity_holds_no_secret_and_its_digest_knows_each_word(tmp_path: Path, name: str) -> None:
    def found(text: str) -> tuple[str, str]:
        (server,) = read_mcp_config(text, tmp_path / "mcp.json", {}).servers
        identity = server.identity(tmp_path)
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
    assert secret not in server.identity(tmp_path).text
    assert "serve 'a b'" in server.identity(tmp_path).text


SOURCES: dict[str, tuple[Callable[[Mapping[str, ServerConfig]], Iterable[str]], list[str]]] = {
    "secrets_of_environment": (lambda _: ss.secrets_of_environment(VARIABLES_SET), [*VARIABLES[:4], VARIABLES[5]]),
    "secrets_of_url": (lambda found: ss.secrets_of_url(found["query"].url or ""), URLS),
    "ServerConfig.secrets": (lambda found: found["spy"].secrets(sure=True), [*ODD_ENV, *PLAIN_ENV]),
    "secrets_of_headers": (
        lambda found: (one for name in ("bearer", "basic") for one in ss.secrets_of_headers(found[name].headers)),
        HEADERS,
    ),
    "secrets_of_arguments": (lambda found: ss.secrets_of_arguments(found["spy"].args), ARGUMENTS),
    "secrets_of_auth": (
        lambda found: (one for name in ("older", "oauth") for one in ss.secrets_of_auth(found[name].auth)),
        AUTH,
    ),
    "Settings.secrets": (
        lambda _: Settings.model_validate(tomllib.loads(config("x"))).secrets(VARIABLES_SET),
        [*CONFIG, VARIABLES[4]],
    ),
    "secrets_of_kept": (
        lambda _: (
            one for text in (json.dumps({"access_token": KEPT[0]}), KEPT[3]) for one in ss.secrets_of_kept(text)
        ),
        [KEPT[0], KEPT[3]],
    ),
}


def test_there_is_a_canary_for_each_source_of_secrets(tmp_path: Path) -> None:
    entries = json.dumps(servers(tmp_path / "spy.py", "x"))
    found = {server.name: server for server in read_mcp_config(entries, tmp_path / "mcp.json", {}).servers}
    assert {name for name in vars(ss) if name.startswith("secret")} == {name for name in SOURCES if "." not in name}
    for name, (source, canaries) in SOURCES.items():
        assert {*canaries} <= {*source(found)}, name
    assert {*CANARIES} == {one for _, canaries in SOURCES.values() for one in canaries} | {*KEPT}


class Telling(LiveEndpoint):
    """Says every secret in the name of a limit, in a refusal, in an answer cut short and in what it sees."""

    def __call__(self, request: Request) -> Reply | Answer:
        asked = json.dumps(request.body) if request.raw else ""
        everything = " ".join(CANARIES)
        if "1 to 120" in asked:
            return Reply.json({"error": {"message": f"no such plan: {everything}"}}, 403)
        if "image_url" in asked:
            return Answer(Text(everything))
        answer = super().__call__(request)
        if isinstance(answer, Reply) and request.raw:
            return replace(answer, headers={"x-ratelimit-limit-requests": quote(everything)})
        return answer


@dataclass(frozen=True)
class Used:
    """A program full of secrets with a session in which servers said all of them, under a rule that allows it; and as
    it is once the model said them too, in its words and in the arguments of a call. `endpoint` is the URL of one that
    says all of them where it is tested."""

    before: Path
    first: str
    endpoint: str
    after: Fanout
    said: str


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Used]:
    with echo() as host, WireServer() as server, WireServer(Telling()) as telling:
        fanout = asyncio.run(full_of_secrets(tmp_path_factory.mktemp("used"), host))
        before = tmp_path_factory.mktemp("before")
        prepare(fanout, "spy.environment")
        own = fanout.home / "config.toml"
        own.write_text(f'{own.read_text()}\n[rules]\nallow = ["spy.*"]\n')
        env = {**VARIABLES_SET, "OPENAI_BASE_URL": server.base_url("openai-chat")}
        modes = ("run", "--output-format", "stream-json", "--debug", "-m", "openai/m", "--")
        server.script(calls(), Answer(Text("Seen.")))
        done = fanout.run(*modes, "one", env=env)
        assert done.code == 0, done.err
        assert any("stands for" in event.get("text", "") for event in done.events)
        listed = fanout.run("mcp", "list", env=VARIABLES_SET)  # keeps the names of the tools
        url = telling.base_url("openai-chat")
        tested = fanout.run(*lines("endpoint test", session="", server="", tool="", url=url)[0], env=VARIABLES_SET)
        assert "no such plan: (hidden)" in tested.out, tested.err  # its fingerprint is kept
        stored = files(fanout)
        assert str(Paths.find(fanout.environment()).sessions) in stored
        assert leaks({**printed("run", done), **printed("list", listed), **printed("endpoint", tested), **stored}) == []
        shutil.copytree(fanout.home.parent, before, dirs_exist_ok=True)
        arguments = Call("calculator_evaluate", json.dumps({"expression": " ".join(CANARIES)}, ensure_ascii=False))
        server.script(
            Answer(Text(f"They are {' '.join(CANARIES)}."), arguments), Answer(Text(" ".join(reversed(CANARIES))))
        )
        servers = ("--mcp-config", str(Paths.bundled("mcp.json")), "--mcp", "calculator")
        said = fanout.run(*modes[:-1], *servers, "--", "two", env=env)
        assert said.code == 0, said.err
        yield Used(before, done.events[0]["session_id"], url, fanout, said.events[0]["session_id"])


@pytest.mark.parametrize(("form", "env"), turns([*FORMATS, *MOVING], [VARIABLES_SET, {}]))
def test_no_form_of_export_has_a_secret_that_was_said(used: Used, form: str, env: dict[str, str]) -> None:
    """Without the variables nobody knows what they held."""
    done = used.after.run("sessions", "export", used.said, "--format", form, "--speed", "99", env=env)
    assert done.code == 0, done.err
    assert "(hidden)" in done.out
    gone = VARIABLES if not env else []
    assert [leak for leak in leaks(printed(form, done)) if not gone or int(leak[:2]) < CANARIES.index(gone[0])] == []


@pytest.mark.parametrize("name", sorted(ENDING))
def test_no_command_says_a_secret_and_no_file_keeps_one_and_nobody_can_arrive(
    used: Used, tmp_path: Path, name: str
) -> None:
    shutil.copytree(used.before, tmp_path, dirs_exist_ok=True)
    fanout = Fanout(tmp_path)
    for words in lines(name, session=used.first, server="spy", tool="spy.environment", url=used.endpoint):
        typed = f"{KEPT[3]}\n".encode() if name == "auth set" else b""
        process = fanout.start(*words, stdin=subprocess.PIPE, env={**VARIABLES_SET, "EDITOR": "true"})
        watch = Watch(process.pid)
        out, err = process.communicate(typed, PATIENCE)
        assert watch.end() == set(), "it listens nowhere"
        done = Done(process.returncode, out.decode(), err.decode())
        assert "usage:" not in done.err
        assert leaks({**printed(name, done), **files(fanout)}) == []


# Why a file that Paths names is in none of the homes above.
ELSEWHERE = {
    "files": "a file that a tool returns",
    "themes": "the user's own, and no secrets",
    "trust": "asked of a person",
    "drafts": "of the console",
    "history": "of the console",
    "calls": "of the console",
    "session_locks": "gone with its session",
    "dialects": "an answer of a person",
    "refusals": "an endpoint that refuses",
    "repaired": "a file that others could read",
    "tools": "a server that is switched off",
    "plugins": "of what a plugin keeps for itself",
    "batches": "gone with its batch",
    "replaced": "a file that a call replaced",
    "programs": "a program that waits",
    "worktrees": "the folder of an agent",
}


def test_each_file_that_paths_names_is_searched(used: Used) -> None:
    known = Paths.find(used.after.environment())
    named = {name for name, value in vars(Paths).items() if isinstance(value, type(vars(Paths)["log"]))}
    for name in named - {*ELSEWHERE}:
        path: Path = getattr(known, name)
        assert path.exists(), name
        assert path.is_relative_to(used.after.home)
    assert {*ELSEWHERE} < named


def test_each_command_that_is_left_out_has_a_test_of_its_own() -> None:
    assert {*ENDING} | {*RUNNING} == LEAVES
    for _, test in RUNNING.values():
        file, name = test.split("::")
        assert f"def {name}(" in (Path(__file__).parent / file).read_text(encoding="utf-8")
