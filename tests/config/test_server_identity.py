"""A rule or an approval means one server, which is told by its program."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

from console_app.config.secrets import Redactor
from console_app.config.servers import ServerConfig, read_mcp_config
from tests.each import each


def command(*words: str, **fields: object) -> ServerConfig:
    return ServerConfig.model_validate({"name": "files", "command": words[0], "args": words[1:], **fields})


def test_it_is_the_command_with_its_arguments_and_never_the_name(tmp_path: Path) -> None:
    one = command("uvx", "files", "--root", "a b").identity(tmp_path)
    assert one.text == "uvx files --root 'a b'"
    assert one == command("uvx", "files", "--root", "a b", name="other", env={"KEY": "1"}).identity(tmp_path / "x")
    for other in (
        command("uvx", "files"),
        command("npx", "files", "--root", "a b"),
        command("uvx", "files --root a b"),
    ):
        assert other.identity(tmp_path).digest != one.digest


@each("words", [("./server",), ("python", "server"), ("python", "-u", "server")])
def test_a_program_of_the_folder_is_another_one_in_another_folder(tmp_path: Path, words: tuple[str, ...]) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        folder.mkdir()
        (folder / "server").touch()
    assert command(*words).identity(here).digest != command(*words).identity(there).digest
    assert str(here) in command(*words).identity(here).text
    assert command(*words, cwd=str(there)).identity(here) == command(*words).identity(there)


def test_the_text_of_a_url_holds_no_key(tmp_path: Path) -> None:
    url = "https://me:secret@example.com/mcp?token=secret"
    found = ServerConfig(name="web", url=url).identity(tmp_path)
    assert found.text == "https://example.com/mcp?…"
    assert found.digest != ServerConfig(name="web", url=url + "2").identity(tmp_path).digest


SECRET = "zQ7Kp93Lw-of-mine"
KEY = "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
WRITTEN: dict[str, tuple[str, ...]] = {
    "a flag": ("--api-key", SECRET),
    "a flag with its value": ("--token=" + SECRET,),
    "a flag with a colon": ("--api-key:" + SECRET,),
    "a flag with quotation marks": (f'--api-key="{SECRET}"',),
    "a bearer": ("--bearer", SECRET),
    "a variable": ("run", "-e", "GITHUB_TOKEN=" + SECRET),
    "a variable behind a flag": ("--env=API_KEY=" + SECRET,),
    "a header": ("--header", "Authorization: Bearer " + SECRET),
    "a header without a blank": ("-H", "X-Api-Key:" + SECRET),
    "a cookie": ("-H", f"Cookie: sid={SECRET}; a=b"),
    "JSON": ("--config", json.dumps({"apiKey": SECRET})),
    "JSON in JSON": ("--config=" + json.dumps({"a": [{"token": SECRET}]}),),
    "a shell's line": ("-c", f"server --api-key {SECRET} --port 80"),
    "a shell's variable": ("-c", f"API_TOKEN={SECRET} exec server"),
    "a URL's password": (f"postgresql://me:{SECRET}@host/db",),
    "a URL's query": ("--url=https://host/mcp?token=" + SECRET,),
    "a URL's fragment": ("https://host/mcp#token=" + SECRET,),
    "the key of a maker": ("serve", KEY),
}


@each("words", WRITTEN.values(), ids=WRITTEN)
def test_a_secret_of_the_arguments_is_in_no_text_and_known_when_the_server_says_it(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    for server in (command("npx", *words), command("sh", "-c", shlex.join(["npx", *words]))):
        secret = KEY if KEY in words else SECRET
        assert secret not in server.identity(tmp_path).text
        said = Redactor(server.secrets()).without_known(f"My words are {' '.join(words)}, mine is {secret}.")
        assert secret not in said
        assert "npx" in server.identity(tmp_path).text


def test_a_secret_behind_an_address_is_known() -> None:
    assert SECRET in set(ServerConfig(name="web", url=f"https://host/mcp#token={SECRET}").secrets())


@each("name", [f"https://me:{SECRET}@host/mcp", f"https://host/mcp?key={SECRET}"])
def test_an_address_with_a_secret_is_no_name(tmp_path: Path, name: str) -> None:
    text = json.dumps({"mcpServers": {name: {"command": "x"}, "other": {"command": "x"}}})
    read = read_mcp_config(text, tmp_path / "mcp.json", {})
    assert [bool(one.problem) for one in read.servers] == [True, False]
    assert SECRET not in repr(read)
    assert "a server's name can't be an address with a secret" in str(read.problems[0])
