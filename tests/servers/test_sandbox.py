"""The sandbox of commands: ways out of it, tried in each kind that this machine has, and the truth without one."""

from __future__ import annotations

import functools
import os
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers.stdio_client import ROOT, StdioClient
from tests.servers.test_shell import ran, told

KINDS = ("bubblewrap", "Landlock")


@functools.cache
def holds(kind: str) -> bool:
    """Whether this machine has it, as the program itself finds out."""
    environment = {**os.environ, "FANOUT_SHELL_SANDBOX": kind.lower()}
    words = (sys.executable, "-m", "console_app.servers.parts.shell.sandbox")
    done = subprocess.run(words, env=environment, cwd=ROOT, capture_output=True, text=True, check=True)
    return "not sandboxed" not in done.stdout and kind in done.stdout


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    if not holds(request.param):
        pytest.skip(f"{request.param} does not work here")
    return request.param


@pytest.fixture
def shell(work: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[StdioClient]:
    subprocess.run(("git", "init", "-q", str(work)), check=True)
    (work / "sub").mkdir()
    subprocess.run(("git", "init", "-q", str(work / "sub")), check=True)
    (work / "mcp.json").write_text("{}")
    (work / ".claude").mkdir()
    (work / ".claude" / "settings.json").write_text("{}")
    monkeypatch.setenv("FANOUT_SHELL_SANDBOX", kind.lower())
    with StdioClient("console_app.servers.shell", cwd=work) as client:
        yield client


WRITES = (
    "echo x > {outside}/file",
    "echo x >> {outside}/there",
    "rm -f {outside}/there",
    "mv {outside}/there {outside}/gone",
    "truncate -s 0 {outside}/there",
    "ln -s {outside}/there link && echo x > link",
    "ln {outside}/there hard && echo x > hard",
    "mkdir {outside}/folder",
    "ln -s {outside} folder && touch folder/file",
    "cp /bin/true {outside}/program",
    "mknod {outside}/device c 1 3",
    "mkfifo {outside}/pipe",
    "dd if=/dev/zero of={outside}/there count=1",
    "sed -i s/t/x/ {outside}/there",
    "tee {outside}/file < /dev/null",
    "cd {outside} && touch file",
    "(setsid touch {outside}/file)",
    "nohup sh -c 'echo x > {outside}/file' &",
    "python3 -c \"open('{outside}/file', 'w')\"",
    "python3 -c \"import os; os.rename('{outside}/there', 'mine')\"",
    "python3 -c \"import os; os.truncate('{outside}/there', 0)\"",
    "unshare -rm sh -c 'mount -o remount,rw / ; touch {outside}/file'",
    "mount -o remount,rw,bind / && touch {outside}/file",
    "mount --bind . {outside} && touch {outside}/file",
    "umount {outside}; touch {outside}/file",
    "chroot / touch {outside}/file",
    "nsenter -t 1 -m touch {outside}/file",
    "echo x > /proc/1/root{outside}/file",
    "echo x > /proc/self/root{outside}/file",
    "exec 9<{outside} && echo x > /proc/self/fd/9/file",
    "kill -9 $PPID; touch {outside}/file",
)


@pytest.mark.parametrize("command", WRITES)
def test_nothing_outside_is_written(shell: StdioClient, tmp_path: Path, command: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "there").write_text("there")
    before = (os.listdir(outside), (outside / "there").read_text(), (outside / "there").stat().st_nlink)
    ran(shell, command.format(outside=outside), timeout=20)
    assert (os.listdir(outside), (outside / "there").read_text(), (outside / "there").stat().st_nlink) == before


POWERS = (
    "echo x > .git/hooks/pre-commit",
    "rm -rf .git/hooks; mkdir .git/hooks; echo x > .git/hooks/pre-commit",
    "git config core.fsmonitor 'touch x'",
    "echo '[core]' >> .git/config",
    "sed -i s/false/true/ .git/config",
    "rm -f .git/config; echo x > .git/config",
    "mv .git .old; mkdir .git; cp -r .old/. .git; echo '[x]' >> .git/config",
    "cp -r .git other; echo '../other' > .git/commondir; echo x >> other/config",
    "echo x > .git/config.worktree",
    "ln -sf /etc/passwd .git/config",
    "ln other .git/hooks/post-checkout; echo x > .git/hooks/post-checkout",
    "echo x > sub/.git/hooks/post-checkout",
    "echo x >> sub/.git/config",
    "mkdir -p .git/modules/m/hooks && echo x > .git/modules/m/hooks/h",
    "echo x > mcp.json",
    "rm mcp.json && echo x > mcp.json",
    "echo x > .mcp.json",
    "mkdir .fanout && echo x > .fanout/config.toml",
    "echo x > .claude/settings.json",
    "echo x > .claude/more.json",
    "rm -rf .claude; mkdir .claude; echo x > .claude/hooks.json",
    "mkdir .vscode && echo x > .vscode/tasks.json",
    "echo x > .bashrc",
    "ln -s mcp.json .profile",
    "(sleep 0.05; echo x > .envrc) & wait",
    "git init -q new 2>/dev/null; echo x > .gitmodules",
)


def powers(work: Path) -> dict[str, str]:
    """What gives power over later commands, in the folder as it is."""
    names = (".git/config", ".git/config.worktree", ".git/commondir", "sub/.git/config", "mcp.json", ".mcp.json")
    names += (".bashrc", ".profile", ".envrc", ".gitmodules")
    folders = (".git/hooks", "sub/.git/hooks", ".git/modules", ".fanout", ".claude", ".vscode")
    found = {name: (work / name).read_text() for name in names if os.path.lexists(work / name)}
    for folder in folders:
        found |= {str(file): file.read_text() for file in (work / folder).rglob("*") if file.is_file()}
    return found


@pytest.mark.parametrize("command", POWERS)
def test_nothing_is_left_that_has_power_over_later_commands(shell: StdioClient, work: Path, command: str) -> None:
    before = powers(work)
    result = ran(shell, command)
    assert powers(work) == before
    assert stat.S_ISREG((work / ".git/config").lstat().st_mode)
    assert result["structuredContent"]["stopped_by_sandbox"] or result["structuredContent"]["exit_code"] == 0
    assert told(ran(shell, "git status --short >/dev/null; echo $?")).startswith("0\n")


@pytest.mark.parametrize(
    "command",
    [
        "exec 9<>/dev/tcp/127.0.0.1/{port}",
        "python3 -c \"import socket; socket.create_connection(('127.0.0.1', {port}))\"",
        "python3 -c \"import socket as s; d = s.socket(type=s.SOCK_DGRAM); d.sendto(b'x', ('127.0.0.1', {port})); "
        "d.connect(('192.0.2.1', 53)); d.send(b'x')\"",
        "python3 -c \"import socket; socket.create_connection(('::1', {port}))\"",
        "python3 -c \"import socket; s = socket.socket(socket.AF_UNIX); s.connect('/run/fanout-test.sock')\"",
        "python3 -c \"import socket; socket.getaddrinfo('example.com', 80)\"",
    ],
)
def test_no_network_is_reached(shell: StdioClient, command: str) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams,
    ):
        port = server.getsockname()[1]
        datagrams.bind(("127.0.0.1", port))
        server.setblocking(False)
        datagrams.setblocking(False)
        result = ran(shell, command.format(port=port), timeout=20)
        assert result["structuredContent"]["exit_code"] != 0
        for one in (server.accept, lambda: datagrams.recv(10)):
            with pytest.raises(BlockingIOError):
                one()


WORKS = (
    "echo x > file && cat file && rm file",
    "mkdir -p a/b && touch a/b/c && rm -r a",
    "echo x > $TMPDIR/file && cat $TMPDIR/file",
    "seq 20000; cat $TMPDIR/../output/1.txt | tail -1",
    "cat <<< text && : > /dev/null",
    "git -c user.name=a -c user.email=b commit -q --allow-empty -m one",
    'python3 -c "import multiprocessing as m; m.Lock(); print(m.cpu_count())"',
    "python3 -c \"import socket; a, b = socket.socketpair(); a.send(b'x'); print(b.recv(1))\"",
    "ls / >/dev/null && cat /etc/hostname >/dev/null",
    "sleep 0.01 & wait",
)


@pytest.mark.parametrize("command", WORKS)
def test_ordinary_work_works(shell: StdioClient, command: str) -> None:
    result = ran(shell, command)
    assert result["structuredContent"]["exit_code"] == 0, told(result)
    assert not result["structuredContent"]["stopped_by_sandbox"]


@pytest.fixture
def elsewhere() -> Iterator[Path]:
    """A folder that is not in /tmp, which is another in bubblewrap."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        yield Path(folder)


def test_what_was_stopped_says_so_and_runs_outside_when_asked(shell: StdioClient, kind: str, elsewhere: Path) -> None:
    command = f"echo x > {elsewhere}/file"
    result = ran(shell, command)
    assert "The sandbox may have stopped this." in told(result)
    assert "outside=true" in told(result)
    result = ran(shell, command, outside=True)
    assert result["structuredContent"]["exit_code"] == 0
    assert "outside of the sandbox" in told(result)
    assert (elsewhere / "file").read_text() == "x\n"
    (run,) = [tool for tool in shell.request("tools/list")["tools"] if tool["name"] == "run"]
    assert kind in run["description"]


def test_without_a_sandbox_it_says_so(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FANOUT_SHELL_SANDBOX", "off")
    with StdioClient("console_app.servers.shell", cwd=work) as shell:
        assert "; not sandboxed]" in told(ran(shell, "true"))
        (run,) = [tool for tool in shell.request("tools/list")["tools"] if tool["name"] == "run"]
        assert "not sandboxed" in run["description"]
