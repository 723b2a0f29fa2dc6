"""The shell: what a command gives back, live and at its end, that it is bounded, and that nothing of it stays."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from console_app.servers.parts.shell import commands
from tests.each import each
from tests.examples import turns
from tests.patience import until_there
from tests.servers.stdio_client import StdioClient


@pytest.fixture
def shell(work: Path) -> Iterator[StdioClient]:
    with StdioClient("console_app.servers.shell", cwd=work) as client:
        yield client


SECONDS = f"1000.{os.getpid()}"  # that what these tests start sleeps, and nothing else does


def ran(shell: StdioClient, command: str, **more: Any) -> dict[str, Any]:
    """The whole result of a command."""
    request = shell.send(
        "tools/call",
        name="run",
        arguments={"command": command.replace("SECONDS", SECONDS), **more},
        _meta={"progressToken": "t"},
    )
    return shell.answer(request)["result"]


def told(result: dict[str, Any]) -> str:
    return result["content"][0]["text"]


def heard(shell: StdioClient, stream: str) -> str:
    """Return the part of a stream that was told while it ran; pieces that were left out are a mark."""
    text, end = "", 0
    for notice in shell.notified:
        piece = (notice["params"].get("_meta") or {}).get("fanout/output")
        if not piece:
            continue
        if piece["stream"] == stream:
            text += ("" if piece["offset"] == end else "…") + piece["text"]
        end = piece["offset"] + len(piece["text"].encode())  # of all streams
    return text


ENDS = {
    "true": (0, ""),
    "exit 3": (3, ""),
    "echo out; echo err >&2; false": (1, "out\nerr"),
    "kill -9 $$": (137, ""),
    "no-such-program": (127, "not found"),
    "cat": (0, ""),
    "read line || echo none": (0, "none"),
    "printf 'no end of line'": (0, "no end of line"),
    "printf 'a\\0b\\xff and more'": (0, "a\0b\ufffd and more"),
    "if then": (2, "syntax error"),
    "sudo -n true; echo $?": (0, ""),
}


@each("command", ENDS)
def test_a_command_gives_its_output_and_exit(shell: StdioClient, command: str) -> None:
    code, text = ENDS[command]
    result = ran(shell, command)
    assert result["structuredContent"]["exit_code"] == code
    assert text in told(result)
    assert f"[exit {code} in " in told(result)
    assert not result["isError"]


def test_output_is_told_live_by_stream_with_its_offset(shell: StdioClient) -> None:
    # The pause is for the first two to be told before the others are written.
    result = ran(shell, "echo one; echo two >&2; sleep 0.2; echo three; printf 'ü%.0s' 1 2 3")
    assert heard(shell, "stdout") == "one\nthree\nüüü"
    assert heard(shell, "stderr") == "two\n"
    assert [notice["params"]["progress"] for notice in shell.notified][-1] == result["structuredContent"]["bytes"]


def test_a_terminal_is_given_where_it_is_asked_for(shell: StdioClient) -> None:
    asked = "test -t 1 && echo yes || echo no; test -t 0 && echo input || echo none"
    assert told(ran(shell, asked)).startswith("no\nnone")
    assert told(ran(shell, asked, pty=True)).replace("\r", "").startswith("yes\nnone")


@each("pty", [False, True])
def test_a_flood_is_bounded_everywhere(shell: StdioClient, pty: bool) -> None:
    shell.notified.clear()
    result = ran(shell, "yes 0123456789", timeout=1.0, pty=pty)
    assert "timed out after 1 s: exit " in told(result)
    data = result["structuredContent"]
    assert data["bytes"] > commands.HEAD + commands.TAIL
    assert len(told(result)) < 2 * (commands.HEAD + commands.TAIL)
    assert Path(data["file"]).stat().st_size <= commands.MOST_KEPT
    pieces = [notice["params"] for notice in shell.notified if notice["params"].get("_meta")]
    assert len(pieces) <= 45
    assert all(len(one["_meta"]["fanout/output"]["text"]) <= commands.MOST_LIVE for one in pieces)


def test_more_than_is_taken_ends_the_command(shell: StdioClient) -> None:
    result = ran(shell, "cat /dev/zero", timeout=60)
    assert "ended because it wrote more than 200 MB" in told(result)
    assert "[binary output, " in told(result)


@each("pty", [False, True])
@each("command", ["head -c 5000 /dev/urandom", "head -c 90000 /dev/urandom", "cat $(command -v git)"])
def test_binary_output_is_told_and_not_shown(shell: StdioClient, command: str, pty: bool) -> None:
    text = told(ran(shell, command, pty=pty))
    assert text.startswith("[binary output, ")
    assert len(text) < 300


@each("pty", [False, True])
@each("steps", [20, 9000])
def test_of_a_progress_bar_its_last_state_is_in_the_result(shell: StdioClient, steps: int, pty: bool) -> None:
    bar = f"echo first; seq -f '%.0f of {steps} done' -s $'\\r' {steps}; echo last"
    text = told(ran(shell, bar, pty=pty)).replace("\r\n", "\n")
    assert text.startswith("first\n")
    assert f"{steps} of {steps} done\nlast\n[exit 0" in text
    assert text.count("\n") <= 5  # of a longer output the last state in its head too
    assert len(text) < 300


def test_a_longer_output_has_head_and_tail_and_is_read_on(shell: StdioClient) -> None:
    result = ran(shell, "seq 1 20000")
    text, data = told(result), result["structuredContent"]
    assert text.startswith("1\n2\n3\n")
    assert "\n20000\n[exit 0" in text
    assert re.search(r"bytes are left out: all of it in \S+/1.txt, and `output` with run=1 reads on", text)
    assert Path(data["file"]).read_text() == "".join(f"{number}\n" for number in range(1, 20001))
    whole, at = "", 0
    while True:
        request = shell.send("tools/call", name="output", arguments={"run": 1, "offset": at})
        part = shell.answer(request)["result"]
        piece = told(part).rpartition("[exit")[0]
        whole, before, at = whole + piece, at, part["structuredContent"]["next_offset"]
        if at == before:
            break
    assert whole == Path(data["file"]).read_text()


BEGUN = "until [ -e begun ]; do sleep 0.01; done; rm begun"
LEAVES = {
    "a child": "sleep SECONDS &",
    "of a session of its own": "setsid sleep SECONDS >/dev/null 2>&1 &",
    "a daemon that forks twice": f"(setsid sh -c 'sleep SECONDS & exec >/dev/null; touch begun' &) ; {BEGUN}",
    "that ignores SIGTERM": f"(trap '' TERM; touch begun; setsid sleep SECONDS) & {BEGUN}",
    "of a name of its own": f"nohup setsid bash -c 'touch begun; exec -a other sleep SECONDS' >out 2>&1 & {BEGUN}",
}


def sleepers() -> set[int]:
    return {one.pid for one in psutil.process_iter() if SECONDS in _words(one)}


def _words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


@pytest.mark.parametrize(("leaves", "sandbox"), turns(LEAVES, ["", "off"]))
def test_what_a_command_leaves_behind_ends_with_it(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, leaves: str, sandbox: str
) -> None:
    monkeypatch.setenv("FANOUT_SHELL_SANDBOX", sandbox)
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # a server that is killed leaves its folder
    before = sleepers()
    leaving = LEAVES[leaves].replace("SECONDS", SECONDS)
    started = f"{leaving}\ntouch started\nsleep {SECONDS}"
    with StdioClient("console_app.servers.shell", cwd=work) as shell:
        assert ran(shell, leaving)["structuredContent"]["exit_code"] == 0
        assert sleepers() <= before
        # Cancelled, and with the server killed.
        slow = shell.send("tools/call", name="run", arguments={"command": started})
        until_there((work / "started").exists, "the start")
        shell.write(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}\n' % slow)
        until_there(lambda: sleepers() <= before, "the end of them")
        (work / "started").unlink()
        shell.send("tools/call", name="run", arguments={"command": started})
        until_there((work / "started").exists, "the start")
        shell.kill()
        until_there(lambda: sleepers() <= before, "the end of them")


def test_a_command_in_the_background_is_read_and_stopped(shell: StdioClient, work: Path) -> None:
    before = sleepers()
    result = ran(shell, "echo begun; sleep SECONDS", background=True)
    number = result["structuredContent"]["run"]
    request = shell.send("tools/call", name="output", arguments={"run": number, "wait": 0.3})
    assert told(shell.answer(request)["result"]).startswith("begun\n[it runs since ")
    text, failed = shell.call("stop", run=number)
    assert text.startswith(f"Run {number}: stopped: exit ")
    assert not failed
    assert sleepers() <= before
    assert "no run 99" in shell.call("stop", run=99)[0]


def test_a_command_works_in_a_folder_inside_alone(shell: StdioClient, work: Path) -> None:
    (work / "sub").mkdir()
    assert told(ran(shell, "pwd", cwd="sub")).startswith(str(work / "sub"))
    assert shell.call("run", command="pwd", cwd="/")[1]
    assert shell.call("run", command="pwd", cwd="..")[1]
    assert shell.call("run", command="pwd", cwd="nowhere")[1]


@each(
    "arguments",
    [{"command": ""}, {"command": "a\0b"}, {"command": "x" * 200_000}, {"command": "true", "timeout": 0}],
    ids=("empty", "NUL", "long", "no time"),
)
def test_what_can_not_be_run_is_refused_in_words(shell: StdioClient, arguments: dict[str, Any]) -> None:
    text, failed = shell.call("run", **arguments)
    assert failed
    assert "\n" not in text


def test_what_a_shell_reads_of_its_environment_is_kept_from_it(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (work / "start").write_text("echo evil")
    monkeypatch.setenv("BASH_ENV", str(work / "start"))
    monkeypatch.setenv("ENV", str(work / "start"))
    with StdioClient("console_app.servers.shell", cwd=work) as shell:
        assert "evil" not in told(ran(shell, "true"))


def test_an_editor_that_wants_a_terminal_ends_with_a_word(shell: StdioClient, work: Path) -> None:
    made = ran(shell, "git init -q . && git -c user.name=a -c user.email=b commit --allow-empty", timeout=30)
    assert made["structuredContent"]["exit_code"] != 0
    assert "There is no terminal here for an editor" in told(made)
