"""Other programs get what they need of the environment, and no secret that was meant for another."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from console_app.config.secrets.child_environment import for_own_programs, for_servers
from console_app.config.servers import ServerConfig
from console_app.mcp_client.connecting.asking import open_in_browser
from console_app.mcp_client.connecting.channel import launch
from console_app.mcp_client.transport.process import Guard

GIVEN = {
    "PATH": "/bin",
    "LC_TIME": "C",
    "https_proxy": "http://proxy.test:3128",
    "NO_PROXY": "localhost,.test",
    "EDITOR": "vim",
    "SSH_AUTH_SOCK": "/run/agent",
}
SECRET = {
    "OPENAI_API_KEY": "sk-canary",
    "HTTP_PROXY": "http://me:canary@proxy.test:3128",
    "ALL_PROXY": "me:canary@proxy.test",
    "DATABASE": "postgres://app:canary@db.test/x",
    "GITHUB_TOKEN": "canary",
}

UNIX = {
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "TZ", "TMPDIR", "TMP", "TEMP"),
    *("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "SSL_CERT_FILE", "SSL_CERT_DIR"),
    *("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"),
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
}


def test_a_server_gets_the_minimum_and_no_proxy_with_a_password() -> None:
    needed = {name: value for name, value in GIVEN.items() if name not in ("EDITOR", "SSH_AUTH_SOCK")}
    assert for_servers({**GIVEN, **SECRET, "LC_ALL": "() { evil; }"}) == needed


def test_the_editor_gets_all_but_the_secrets() -> None:
    assert for_own_programs({**GIVEN, **SECRET}) == GIVEN


def told(folder: Path) -> tuple[Path, Path]:
    """A program that writes its environment and its arguments into a file, and that file."""
    program, file = folder / "program", folder / "told"
    program.write_text(f"#!/bin/sh\n{{ env; echo \"given $*\"; }} > '{file}.new'\nmv '{file}.new' '{file}'\n")
    program.chmod(0o755)
    return program, file


async def test_the_browser_gets_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program, file = told(tmp_path)
    for name, value in {**SECRET, "BROWSER": str(program), "DISPLAY": ":7"}.items():
        monkeypatch.setenv(name, value)
    await open_in_browser("https://example.test/page")
    said = file.read_text()
    assert "given https://example.test/page" in said
    assert "DISPLAY=:7" in said
    assert "canary" not in said


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="reads /proc")
async def test_the_guard_of_the_servers_gets_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "canary")
    started: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen

    def noted(*arguments: Any, **options: Any) -> subprocess.Popen[bytes]:
        started.append(popen(*arguments, **options))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", noted)
    guard = Guard()
    guard.start()
    try:
        (process,) = started
        assert Path(f"/proc/{process.pid}/environ").read_bytes() == b""
    finally:
        await guard.close()


def test_what_mcp_json_names_is_given_over_what_stands_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {**GIVEN, **SECRET}.items():
        monkeypatch.setenv(name, value)
    config = ServerConfig(name="s", command=sys.executable, env={"GITHUB_TOKEN": "meant", "PATH": "/else"})
    environment = launch(config).environment
    assert (environment["GITHUB_TOKEN"], environment["PATH"]) == ("meant", "/else")
    assert "canary" not in json.dumps(dict(environment))


def test_the_page_names_every_variable_that_servers_get() -> None:
    page = (Path(__file__).parents[2] / "docs" / "security.md").read_text()
    row = next(line for line in page.splitlines() if line.startswith("| Servers, `npx`"))
    named = set(re.findall(r"\b[A-Z][A-Z_]+\b", row)) - {"LC_"}
    assert set(for_servers(dict.fromkeys(named, "x"))) == named == UNIX


def test_a_server_of_ours_is_found_where_the_console_is_not_installed() -> None:
    config = ServerConfig(name="s", command="python", args=("-m", "console_app.servers.calculator"))
    program = launch(config)
    find = "from importlib.util import find_spec; assert find_spec('console_app.servers.calculator')"
    subprocess.run([program.command, "-S", "-c", find], env=program.environment, check=True)
