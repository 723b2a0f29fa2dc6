"""Every way to get the command line wrong: one line each, and exit code 2."""

from __future__ import annotations

import pytest

from tests.headless.inside import Inside


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--modle", "x"], "unrecognized arguments"),
        (["run", "--policy", "all", "x"], "invalid choice: 'all'"),
        (["run", "--max-steps", "0", "x"], "invalid number from 1 value: '0'"),
        (["run", "--timeout", "soon", "x"], "invalid number of seconds value"),
        (["modles"], "did you mean models?"),
        (["mcp"], "mcp needs an action: list, get,"),
        (["mcp", "lst"], "did you mean list?"),
        (["mcp", "list", "--sign-out"], "unrecognized arguments: --sign-out"),
        (["sessions", "list", "--replay"], "unrecognized arguments: --replay"),
        (["sessions", "export", "--formt", "md", "x"], "did you mean --format?"),
        (["completion"], "completion needs SHELL"),
        (["completion", "tcsh"], "no shell 'tcsh'; there are bash, zsh, fish"),
        (["schema", "nothing"], "no output is called 'nothing'"),
        (["man", "nothing"], "no command 'nothing'"),
        (["config", "show", "modle"], "Did you mean model?"),
        (["models", "openai"], "unexpected argument 'openai'"),
        (["frobnicate"], "no command 'frobnicate'; a prompt is quoted"),
        (["frobnicate", "the", "widget"], "fanout -- frobnicate the widget"),
        (["@README.md"], "no command '@README.md'"),
        (["-m", "offline/rehearsal", "hello"], "no command 'hello'"),
        (["config", "alter"], "config has no action 'alter'"),
        (["call"], "call needs SERVER.TOOL JSON"),
        (["call", "calculator"], '"calculator" is no SERVER.TOOL'),
        (["call", "a.b", "{"], "the arguments of a.b are no JSON"),
        (["call", "a.b", '{"n": 1, "n": 2}'], "can't be taken as they are: the key “n” is there twice"),
        (
            ["call", "a.b", '{"n": 0.12345678901234567890}'],
            "0.12345678901234567890 has more digits than a program keeps",
        ),
        (["call", "a.b", '{"n": 1e999}'], "the number 1e999 has more digits than a program keeps"),
        (["call", "a.b", "[]"], '"[]" is no SERVER.TOOL'),
        (["call", "a.b", "{}", "{}"], "belong to no tool"),
        (["call", "nowhere.tool"], "no server has a tool nowhere.tool"),
        (["run"], 'the prompt is empty. Write fanout run "PROMPT", or pipe one in.'),
        (["sessions", "search"], "search needs WORDS. See fanout sessions search --help."),
        (["parse"], "parse needs the tools"),
        (["parse", "--tools", "nowhere.json"], "can't read nowhere.json"),
        (["-C", "/nowhere/at/all", "run", "x"], "--cwd /nowhere/at/all: No such file or directory"),
        (["run", "-m", "nobody/x", "hi"], 'no provider is called "nobody"'),
        (["run", "-m", "openai/x", "hi"], "OPENAI_API_KEY is not set"),
        (["run", "--base-url", "htp:/x", "hi"], "--base-url: base_url is no URL"),
        (["run", "--mcp-config", "nowhere.json", "hi"], "nowhere.json: no such file"),
        (["run", "--mcp", "nobody", "hi"], "has no server nobody"),
        (["-m", "scripted/nowhere.toml", "run", "hi"], "nowhere.toml"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(fanout: Inside, arguments: list[str], says: str) -> None:
    done = fanout.run(*arguments)
    assert says in done.err
    assert done.err.count("\n") == 1
    assert (done.code, done.out) == (2, "")


def test_control_characters_of_the_command_line_do_not_reach_the_terminal(fanout: Inside) -> None:
    done = fanout.run("--bad\x1b]52;c;eA==\x07")
    assert done.code == 2
    assert "\x1b" not in done.err
    done = fanout.run("run", "-m", "x\x1b[31m/y", "hi")
    assert done.code == 2
    assert "\x1b" not in done.err
