"""Every way to get the command line wrong: one line each, and exit code 2."""

from __future__ import annotations

import json

import pytest

from tests.headless.inside import Inside


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--modle", "x"], "unrecognized arguments"),
        (["run", "--policy", "all", "x"], "invalid choice: 'all'"),
        (["run", "--max-steps", "0", "x"], "--max-steps takes a number from 1, not '0'"),
        (["run", "--timeout", "soon", "x"], "--timeout takes a number of seconds, not 'soon'"),
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
        (["sessions", "search"], "search needs WORD. See fanout sessions search --help."),
        (["parse"], "parse needs the tools"),
        (["config", "get", "nope"], "`fanout config list` shows them all."),
        (["batch", "x", "-o", "r.jsonl", "--schema", "nofile.json"], "--schema nofile.json: no such file"),
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


def test_what_is_not_near_is_not_meant(fanout: Inside) -> None:
    for arguments in (["serve", "--bogus"], ["config", "get", "nope"], ["--session", "x"], ["zzz"]):
        assert "did you mean" not in fanout.run(*arguments).err.lower()


def test_an_option_that_was_renamed_still_works_and_says_its_new_name(fanout: Inside) -> None:
    for arguments in (["--max-tokens", "0"], ["--max-tokens=0"]):
        done = fanout.run("batch", "x.jsonl", "-o", "r.jsonl", *arguments)
        assert "--max-tokens is called --max-total-tokens now" in done.err
        assert "--max-total-tokens takes a number from 1, not '0'" in done.err
    assert "max_tokens" not in fanout.run("run", "--max-tokens", "5", "--dialect", "nope", "x").err


def test_a_batch_that_never_ran_leaves_no_file(fanout: Inside) -> None:
    fanout.write("items.jsonl", '{"tool": "nowhere.tool"}\n')
    done = fanout.run("call", "--from", "items.jsonl", "-o", "r.jsonl")
    assert done.code == 2
    fanout.write("prompts.jsonl", '{"prompt": "hi"}\n')
    assert fanout.run("batch", "prompts.jsonl", "-o", "r.jsonl", "-m", "openai/x").code == 2
    assert not (fanout.cwd / "r.jsonl").exists()


def test_an_unknown_ending_is_refused(fanout: Inside) -> None:
    assert fanout.run("run", "-m", "offline/rehearsal", "hello there").code == 0
    session = json.loads(fanout.run("sessions", "list", "--json").out)["sessions"][0]["id"]
    done = fanout.run("sessions", "export", session, "-o", "talk.pdf")
    assert (done.code, (fanout.cwd / "talk.pdf").exists()) == (2, False)
    assert ".pdf" in done.err
    assert ".html" in done.err
    assert fanout.run("sessions", "export", session, "-o", "talk.pdf", "--format", "md").code == 0
    assert fanout.run("sessions", "export", session, "-o", "talk").code == 0
