"""Files behind `@`: found fuzzily, bounded, and without what nobody wants to name."""

from __future__ import annotations

from pathlib import Path

from console_app.tui.prompt.completion import Token, token_before
from console_app.tui.prompt.prompt_box import FileIndex


def write(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")


async def test_the_name_counts_more_than_the_folders(tmp_path: Path) -> None:
    write(tmp_path, "engine/notes.txt", "docs/engine.md", "node_modules/engine.js", ".git/engine", "src/e/n/g/ine.py")
    found = await FileIndex(tmp_path).find("engine.md")
    assert found == ["docs/engine.md"]
    assert (await FileIndex(tmp_path).find("engine"))[0] in ("engine/", "docs/engine.md")
    assert not any("node_modules" in path or ".git" in path for path in await FileIndex(tmp_path).find(""))


async def test_what_gitignore_leaves_out_is_not_found(tmp_path: Path) -> None:
    write(tmp_path, "docs/a.md", "build/a.md", "docs/a.log")
    (tmp_path / ".gitignore").write_text("build/\n*.log\n")
    assert await FileIndex(tmp_path).find("a") == ["docs/a.md"]


async def test_a_folder_that_is_gone_has_no_files(tmp_path: Path) -> None:
    assert await FileIndex(tmp_path / "missing").find("x") == []


def test_tokens_are_read_before_the_cursor() -> None:
    assert token_before("/the", 4, True) == Token("command", "the", 0)
    assert token_before("/the", 4, False) is None
    assert token_before("/theme fj", 9, True) == Token("argument", "fj", 7, "theme")
    assert token_before("see @docs/a then", 11, False) == Token("file", "docs/a", 4)
    assert token_before("me@example.org", 14, True) is None
    assert token_before('see @"a na', 10, True) == Token("file", "a na", 4)
    assert token_before('see @"a name" then', 18, True) is None


async def test_many_files_are_found_while_the_walk_goes_on_and_new_ones_in_the_next(tmp_path: Path) -> None:
    write(tmp_path, *(f"d{n % 40}/file{n}.txt" for n in range(2_000)))
    index = FileIndex(tmp_path)
    assert len(await index.find("file", 8)) == 8
    assert await index.find("file1999") == ["d39/file1999.txt"]
    assert await index.find("file1999q") == []
    assert await index.find("file7.txt", 1) == ["d7/file7.txt"]
    index.close()


async def test_a_walk_ends_when_nobody_wants_it_any_more(tmp_path: Path) -> None:
    write(tmp_path, "a.txt")
    index = FileIndex(tmp_path)
    index.close()
    assert await index.find("a") == []
