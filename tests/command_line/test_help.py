"""Help is of what was asked for, says only what that takes, and fits a screen."""

from __future__ import annotations

import pytest

from console_app.command_line import COMMANDS, CONSOLE, parse_arguments
from console_app.command_line.commands import CommandSpec
from console_app.command_line.help_text import help_of, option
from tests.each import each
from tests.headless.inside import Inside

EVERY = [
    (),
    *((name,) for name in COMMANDS),
    *((command.name, action.name) for command in COMMANDS.values() for action in command.actions),
]


def _command(words: tuple[str, ...]) -> tuple[CommandSpec, CommandSpec | None]:
    command = COMMANDS[words[0]] if words else CONSOLE
    return command, command.action(words[1]) if len(words) > 1 else None


@pytest.mark.parametrize("words", EVERY, ids=" ".join)
def test_help_is_of_the_words_before_it_and_fits_a_screen(
    words: tuple[str, ...], capsys: pytest.CaptureFixture
) -> None:
    for asked in ([*words, "--help"], [*words, "-h"], ["help", *words]):
        with pytest.raises(SystemExit) as ended:
            parse_arguments(asked)
        out, err = capsys.readouterr()
        assert (ended.value.code, err) == (0, "")
        assert out.startswith(f"usage: {' '.join(('fanout', *words))}")
        assert len(out.splitlines()) <= {("batch",): 53, (): 41}.get(words, 40)  # batch takes what run takes, too
        assert max(map(len, out.splitlines())) <= 100


@each("words", [words for words in EVERY if words], ids=" ".join)
def test_help_names_every_option_and_action_and_no_other(words: tuple[str, ...]) -> None:
    command, action = _command(words)
    shown, text = action or command, help_of(command, action)
    lines = [line.strip() for line in text.splitlines()]
    for flag in shown.flags:
        assert any(line.startswith(option(flag).strip() + " ") for line in lines), flag.names
    for other in shown.actions:
        assert any(line.startswith(other.name + " ") for line in lines)
    options = [line for line in lines if line.startswith("-")]
    assert len(options) == len(shown.flags)


def test_what_an_option_is_for_is_seen_without_scrolling_sideways() -> None:
    for words in EVERY:
        command, action = _command(words)
        for flag in (action or command).flags:
            assert len(flag.help) <= 48, flag.help


@each(
    ("arguments", "prompt"),
    [
        (["what is this"], "what is this"),
        (["--", "go"], "go"),
        (["--", "completion", "bash"], "completion bash"),
        (["-m", "offline/rehearsal", "two words"], "two words"),
        (["-p", "go"], "go"),
        ([], None),
    ],
)
def test_a_prompt_holds_a_space_or_stands_behind_two_dashes(arguments: list[str], prompt: str | None) -> None:
    parsed = parse_arguments(arguments)
    assert (parsed.command, parsed.prompt) == ("console", prompt)


@pytest.mark.parametrize("word", ["hello", "complete", "/sessions", "@file", "session", "3+4", "-", "hällo", " x "])
def test_a_word_that_is_no_command_is_never_sent(fanout: Inside, word: str) -> None:
    done = fanout.run(word)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert done.err.startswith(f"fanout: no command {word!r}; ")
    assert not (fanout.home / "data" / "sessions.db").exists()


def test_options_may_stand_anywhere_and_words_between_them() -> None:
    parsed = parse_arguments(["--mcp", "a", "mcp", "--json", "test", "one", "--junit", "x.xml", "two"])
    assert (parsed.command, parsed.action, parsed.words) == ("mcp", "test", ["one", "two"])
    assert (parsed.mcp, parsed.json, parsed.junit) == (["a"], True, "x.xml")
    parsed = parse_arguments(["mcp", "add", "time", "-e", "A=1", "--", "uvx", "--flag", "x"])
    assert (parsed.words, parsed.env) == (["time", "uvx", "--flag", "x"], ["A=1"])


def test_the_version_says_what_is_there(fanout: Inside) -> None:
    first, *rest = fanout.run("--version", "-v").out.splitlines()
    assert first.startswith("fanout ")
    named = {line.split()[0] for line in rest}
    assert {"python", "textual", "mcp", "openai", "anthropic", "pydantic"} <= named
    assert "is not installed" not in "".join(rest)
