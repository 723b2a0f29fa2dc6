"""Commands that people write: what a file may say, which files count, and what is sent."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console_app.config.files import Paths
from console_app.config.files.trusted import trust
from console_app.config.trust import CustomCommand, CustomCommands, ProjectTrust
from console_app.config.trust.custom_commands import MOST_FILES
from console_app.domain.errors import ConfigError
from tests.each import each

WHOLE = """---
description: "Reviews a change"
argument-hint: [issue] [priority]
model: openai/gpt-5
allowed-tools: files.read_*, mcp__git__log, mcp__web, Bash(git add:*), Read
---

Review $1 with priority $2. All: $ARGUMENTS. It costs $100.
"""


def write(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def paths_in(folder: Path) -> Paths:
    return Paths.find({"FANOUT_HOME": str(folder / "home")})


def test_front_matter_and_places_as_others_write_them() -> None:
    command = CustomCommand.read(Path("review.md"), WHOLE)
    assert (command.name, command.description) == ("review", "Reviews a change")
    assert (command.argument_hint, command.model) == ("[issue] [priority]", "openai/gpt-5")
    assert command.allowed_tools == ("files.read_*", "git.log", "web.*")
    assert command.prompt('12 "very high"') == (
        'Review 12 with priority very high. All: 12 "very high". It costs $100.'
    )
    assert command.prompt("") == "Review  with priority . All: . It costs $100."


def test_a_file_of_text_alone_takes_what_is_typed_at_its_end() -> None:
    command = CustomCommand.read(Path("Fix.md"), "# Fix the tests\n\nNow.")
    assert (command.name, command.description) == ("fix", "Fix the tests")
    assert command.prompt("it's late") == "# Fix the tests\n\nNow.\n\nit's late"


@given(st.text(max_size=40), st.text(alphabet="$123 AREGUMNTS'\"\\", max_size=40))
def test_what_is_typed_is_never_filled_in_again(before: str, rest: str) -> None:
    command = CustomCommand.read(Path("a.md"), f"x {before.replace('$', '')} $ARGUMENTS")
    assert command.prompt(rest).endswith(f" {rest}")


@each(
    ("name", "text", "says"),
    [
        ("a b.md", "x", "name has letters"),
        ("a.md", "", "no text"),
        ("a.md", "---\ndescription: x\n---\n", "no text"),
        ("a.md", "---\ndescription: x\n", "no end"),
        ("a.md", "---\nwhat is this\n---\nx", "line 2: not a line of front matter"),
        ("a.md", "---\nallowed-tools: files.read(path\n---\nx", "allowed-tools"),
    ],
)
def test_a_bad_file_is_one_line(name: str, text: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says) as raised:
        CustomCommand.read(Path(name), text)
    assert name in raised.value.line
    assert "\n" not in raised.value.line


def test_a_projects_commands_count_once_trusted_as_they_are(tmp_path: Path) -> None:
    paths, project = paths_in(tmp_path), tmp_path / "project"
    write(tmp_path / "home/commands/mine.md", "Mine.")
    file = write(project / ".fanout/commands/sub/theirs.md", "Theirs.")
    found = CustomCommands.find(paths, project)
    assert [one.name for one in found.commands] == ["mine"]
    assert not found.problems, "what waits for trust is told for all files of a project together"
    assert found.untrusted == {"theirs"}

    asked = ProjectTrust(paths, project, {})
    assert asked.survey()[0] == "a command of this project waits for your trust"
    [waiting] = asked.waiting()
    assert "    Theirs." in waiting.lines
    asked.trust(waiting)
    assert [one.name for one in CustomCommands.find(paths, project).commands] == ["mine", "theirs"]
    assert (asked.waiting(), asked.survey()[0]) == ([], "")

    file.write_text("Theirs, and more.")
    assert [one.name for one in CustomCommands.find(paths, project).commands] == ["mine"]


def test_of_two_with_one_name_your_own_stands_and_a_bad_file_stops_no_other(tmp_path: Path) -> None:
    paths, project = paths_in(tmp_path), tmp_path / "project"
    mine = write(tmp_path / "home/commands/do.md", "Mine.")
    write(tmp_path / "home/commands/bad.md", "---\n")
    write(tmp_path / "home/commands/bytes.md", "").write_bytes(b"\xff")
    theirs = write(project / ".fanout/commands/do.md", "Theirs.")
    trust(paths, theirs)
    found = CustomCommands.find(paths, project)
    assert [(one.name, one.path) for one in found.commands] == [("do", mine)]
    assert [name for name in ("bad.md", "bytes.md", "do.md") if any(name in line for line in found.problems)] == [
        "bad.md",
        "bytes.md",
        "do.md",
    ]


def test_more_files_than_are_read_are_told(tmp_path: Path) -> None:
    folder = tmp_path / "home/commands"
    for number in range(MOST_FILES):
        write(folder / f"group{number % 7}/do{number}.md", "Do it.")
    found = CustomCommands.find(paths_in(tmp_path), tmp_path)
    assert (len(found.commands), found.problems) == (MOST_FILES, ())
    write(folder / "one-more.md", "Do it.")
    found = CustomCommands.find(paths_in(tmp_path), tmp_path)
    assert len(found.commands) == MOST_FILES
    assert [line for line in found.problems if f"only {MOST_FILES} files" in line] == list(found.problems) != []


@each("where", [".fanout", ".claude"])
def test_a_link_that_leads_out_of_the_project_is_neither_shown_nor_trusted(tmp_path: Path, where: str) -> None:
    work = tmp_path / "work"
    (work / ".git").mkdir(parents=True)
    outside = write(tmp_path / "outside.md", "what is mine")
    (work / where / "commands").mkdir(parents=True)
    (work / where / "commands" / "linked.md").symlink_to(outside)
    write(work / where / "commands" / "own.md", "theirs")
    found = ProjectTrust(paths_in(tmp_path), work, {}).waiting()
    assert [one.path.name for one in found] == ["own.md"]
    commands = CustomCommands.find(paths_in(tmp_path), work)
    assert commands.untrusted == {"own"}
    assert "a link leads out of the project" in commands.problems[0]
