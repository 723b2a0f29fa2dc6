"""A rule or an approval means one server, which is told by its program."""

from __future__ import annotations

from pathlib import Path

import pytest

from console_app.config.servers import ServerConfig


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


@pytest.mark.parametrize("words", [("./server",), ("python", "server"), ("python", "-u", "server")])
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
