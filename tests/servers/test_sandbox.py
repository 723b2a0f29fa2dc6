"""The sandbox of commands: ways out of it, tried in each kind that this machine has, and the truth without one."""

from __future__ import annotations

import array
import ctypes
import fcntl
import functools
import os
import re
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from console_app.servers.parts.shell import kernel_sandbox
from tests.each import each
from tests.patience import until_there
from tests.servers.stdio_client import ROOT, StdioClient
from tests.servers.test_shell import ran, told

KINDS = ("bubblewrap", "Landlock")


@functools.cache
def holds(kind: str) -> bool:
    """Tell whether this machine has it, as the program itself finds out."""
    environment = {**os.environ, "FANOUT_SHELL_SANDBOX": kind.lower()}
    words = (sys.executable, "-m", "console_app.servers.parts.shell.sandbox")
    done = subprocess.run(words, env=environment, cwd=ROOT, capture_output=True, text=True, check=True)
    return "not sandboxed" not in done.stdout and kind in done.stdout


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    if not holds(request.param):
        pytest.skip(f"{request.param} does not work here")
    return request.param


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as a command finds its working folder: two repositories and the settings of others."""
    folder = tmp_path_factory.mktemp("project")
    subprocess.run(("git", "init", "-q", str(folder)), check=True)
    (folder / "sub").mkdir()
    subprocess.run(("git", "init", "-q", str(folder / "sub")), check=True)
    (folder / "mcp.json").write_text("{}")
    (folder / ".claude").mkdir()
    (folder / ".claude" / "settings.json").write_text("{}")
    return folder


def filled_anew(work: Path, project: Path) -> None:
    """Give the working folder back what it held before any command ran."""
    for one in work.iterdir():
        if one.is_dir() and not one.is_symlink():
            shutil.rmtree(one)
        else:
            one.unlink()
    shutil.copytree(project, work, dirs_exist_ok=True)


@pytest.fixture
def shell(work: Path, project: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[StdioClient]:
    filled_anew(work, project)
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


@each("command", WRITES)  # the last may end the server
def test_nothing_outside_is_written(shell: StdioClient, tmp_path: Path, command: str) -> None:
    outside = Path(tempfile.mkdtemp(dir=tmp_path))
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
    "echo x > opencode.json",
    "mkdir .opencode && echo x > .opencode/plugin.js",
    "echo x > .bashrc",
    "ln -s mcp.json .profile",
    "(sleep 0.05; echo x > .envrc) & wait",
    "git init -q new 2>/dev/null; echo x > .gitmodules",
    "touch .mcp.json.untrusted .mcp.json.untrusted{1..99}; echo x > .mcp.json",
)


def powers(work: Path) -> dict[str, str]:
    """Return the files of the folder that give power over later commands."""
    names = (".git/config", ".git/config.worktree", ".git/commondir", "sub/.git/config", "mcp.json", ".mcp.json")
    names += (".bashrc", ".profile", ".envrc", ".gitmodules", "opencode.json")
    folders = (".git/hooks", "sub/.git/hooks", ".git/modules", ".fanout", ".claude", ".vscode", ".opencode")
    found = {name: (work / name).read_text() for name in names if os.path.lexists(work / name)}
    for folder in folders:
        found |= {str(file): file.read_text() for file in (work / folder).rglob("*") if file.is_file()}
    return {name: text for name, text in found.items() if not name.endswith(".untrusted")}


@each("command", POWERS)
def test_nothing_is_left_that_has_power_over_later_commands(
    shell: StdioClient, work: Path, project: Path, command: str
) -> None:
    filled_anew(work, project)
    before = powers(work)
    result = ran(shell, command)
    assert powers(work) == before
    assert stat.S_ISREG((work / ".git/config").lstat().st_mode)
    assert result["structuredContent"]["stopped_by_sandbox"] or result["structuredContent"]["exit_code"] == 0
    assert told(ran(shell, "git status --short >/dev/null; echo $?")).startswith("0\n")


# Ways to a power that wasn't there, or in another place than it was; {other} is a repository outside.
NEW_POWERS = (
    "git init -q new; echo evil > new/.git/hooks/pre-commit; echo '[core]fsmonitor=evil' >> new/.git/config",
    "git init -q --bare new; echo '[core]fsmonitor=evil' >> new/config; echo evil > new/hooks/pre-commit",
    "mkdir -p a; git init -q a/new; echo evil > a/new/.git/hooks/pre-commit; mv a new",
    "mv sub new; mkdir sub; cp -r new/.git sub; echo evil > sub/.git/hooks/pre-commit; echo [evil] >> sub/.git/config",
    "mkdir new; cp -r .git new/git; echo 'gitdir: git' > new/.git; echo evil > new/git/hooks/pre-commit",
    "mkdir -p new/.claude; echo evil > new/.claude/settings.json; echo evil > new/.mcp.json",
    "echo evil > .githooks/pre-commit",
    "mv .githooks new; mkdir .githooks; echo evil > .githooks/pre-commit",
    "rm .codex; mkdir .codex; echo evil > .codex/config.toml",
    "echo evil > shared/config.toml",
    "mv .config new; mkdir -p .config/git; echo evil > .config/git/config",
    "mkdir -p .git/worktrees/w; echo evil > .git/worktrees/w/config.worktree; echo evil > .git/worktrees/w/commondir",
    "rm -rf .git; git init -q; echo evil > .git/hooks/pre-commit; echo '[core]fsmonitor=evil' >> .git/config",
    "mkdir new; echo evil > new/settings.json; rm -rf .claude; mv .claude old; ln -s new .claude",
    "mv sub old; ln -s {other} sub",
    "rm -rf .claude; ln -s {other} .claude",
    "mkdir -p a/b/c; git init -q a/b/c/d; cd a/b/c/d/.git; echo evil > hooks/pre-commit; echo [evil] >> config",
    "mkdir d{{1..1500}}; mkdir -p z/z/z; git init -q --bare z/z/z/z; echo evil > z/z/z/z/hooks/update",
)
_POWERS = re.compile(
    r"/(\.claude|\.mcp\.json|\.codex|\.githooks|shared)(/|$)|\.config/git/|/hooks/|/(config|config\.worktree|commondir)$"
)


@each("command", NEW_POWERS)
def test_no_power_is_made_in_another_place(
    shell: StdioClient, work: Path, project: Path, elsewhere: Path, command: str
) -> None:
    filled_anew(work, project)
    elsewhere = Path(tempfile.mkdtemp(dir=elsewhere))
    (work / ".codex").symlink_to("shared")
    for name in (".githooks/commit-msg", "shared/config.toml", ".config/git/config"):
        (work / name).parent.mkdir(parents=True)
        (work / name).write_text("mine")
    subprocess.run(("git", "-C", str(work), "config", "core.hooksPath", ".githooks"), check=True)
    subprocess.run(("git", "init", "-q", str(elsewhere)), check=True)
    (elsewhere / "settings.json").write_text("theirs")
    theirs = {file: file.read_bytes() for file in elsewhere.rglob("*") if file.is_file()}
    result = ran(shell, command.format(other=elsewhere))
    assert {file: file.read_bytes() for file in elsewhere.rglob("*") if file.is_file()} == theirs
    live = [file for file in work.rglob("*") if _POWERS.search(str(file)) and ".untrusted" not in str(file)]
    assert not [file for file in live if file.is_file() and "evil" in file.read_text()]
    assert not (work / ".claude").is_symlink()
    assert result["structuredContent"]["stopped_by_sandbox"] or "{other}" in command


def test_a_power_that_a_command_makes_is_gone_while_it_runs(shell: StdioClient, work: Path) -> None:
    ran(shell, "mkdir new; git init -q new; echo evil > new/.git/hooks/pre-commit; sleep 1000", background=True)
    until_there((work / "new/.git/hooks.untrusted/pre-commit").exists, "the other name")
    assert not (work / "new/.git/hooks").exists()


def test_what_another_replaces_while_a_command_runs_gives_it_no_power(
    shell: StdioClient, work: Path, kind: str
) -> None:
    before = (work / ".git/config").read_text()
    (work / ".git/hooks/post-commit").symlink_to("../../sub/hook")
    command = "until [ -e go ]; do sleep 0.01; done; echo '[alias]evil=!x' >> .git/config; sleep 1000"
    ran(shell, command, background=True)
    until_there((work / ".git/hooks/post-commit").is_symlink, "a link that was there before")
    (work / ".git/new").write_text(before + "[alias]\n\tmine = !y\n")
    (work / ".git/new").replace(work / ".git/config")  # as `git config` does it: what was mounted there is gone
    (work / ".git/hooks/pre-commit").write_text("mine")
    (work / "go").touch()
    until_there(lambda: list((work / ".git").glob("config.untrusted*")), "the other name")
    until_there(lambda: (work / ".git/config").exists() and (work / ".git/config").read_text() == before, "the file")
    until_there(
        lambda: (
            "config was put back as it was]"
            in told(shell.answer(shell.send("tools/call", name="output", arguments={"run": 1}))["result"])
        ),
        "the words about it",
    )
    assert (work / ".git/hooks/post-commit").is_symlink()
    assert (work / ".git/hooks" / ("pre-commit" + ".untrusted" * (kind == "Landlock"))).exists()


@each(
    ("change", "stays"),
    [
        ('[branch "topic"]\n\tremote = origin\n\tmerge = refs/heads/topic\n', True),
        ("[user]\n\tname = Somebody\n", True),
        ("[core]\n\tfsmonitor = ./x\n", False),
        ("[alias]\n\tname = !x\n", False),
        ("[alias] name = !x\n", False),
        ("[user]\n\tname = a\\\n[alias]\n\tname = !x\n", False),
        ("[user]\n[alias]\n\temail = !x\n", False),
    ],
)
def test_a_branch_that_you_push_while_a_command_runs_stays(
    shell: StdioClient, work: Path, project: Path, change: str, stays: bool
) -> None:
    filled_anew(work, project)
    subprocess.run(("git", "-C", str(work), "config", "alias.mine", "!y"), check=True)
    before = (work / ".git/config").read_text()
    arguments = {"command": "touch started; until [ -e go ]; do sleep 0.01; done"}
    running = shell.send("tools/call", name="run", arguments=arguments)
    until_there((work / "started").exists, "the start")
    (work / ".git/new").write_text(before + change)
    (work / ".git/new").replace(work / ".git/config")
    (work / "go").touch()
    shell.answer(running)
    assert (work / ".git/config").read_text() == before + change * stays
    assert stays or (work / ".git/config.untrusted").read_text() == before + change


SECRETS = (
    ".ssh/id_ed25519",
    ".aws/credentials",
    ".netrc",
    ".local/share/fanout/keys.json",
    "papers/tax.txt",
    "other/.env",
)
READS = (
    "cat {home}/{secret}",
    "cat ../{secret}",
    "cat link/{secret}",
    "ln -s {home} way && cat way/{secret}",
    "ln {home}/{secret} way; cat way",
    "cat /proc/self/root{home}/{secret}",
    "cat /proc/1/root{home}/{secret}; cat /proc/[0-9]*/cwd/../{secret}",
    "mv {home}/{secret} way; cat way",
    "grep -r . {home}",
    "umount {home}; umount -l {home}; cat {home}/{secret}",
    "mkdir way; unshare -rm sh -c 'mount --bind / way; umount -l {home}; cat way{home}/{secret} {home}/{secret}'",
    "exec 9<{home} && cat /proc/self/fd/9/{secret}",
    "cat /proc/[0-9]*/environ | tr '\\0' '\\n'",
    "mkdir -p venv; echo home = {home}/$(dirname {secret}) > venv/pyvenv.cfg; cat {home}/{secret}",
    "echo gitdir: {home}/$(dirname {secret}) > .git; cat {home}/{secret}",
)


def test_nothing_else_of_the_home_is_read(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    work = home / "work"
    for secret in SECRETS:
        (home / secret).parent.mkdir(parents=True, exist_ok=True)
        (home / secret).write_text("a secret of mine")
    work.mkdir()
    (work / "link").symlink_to(home)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("FANOUT_SHELL_SANDBOX", kind.lower())
    with StdioClient("console_app.servers.shell", cwd=work) as shell:
        for command in (*READS, READS[0]):  # what a command has left in the folder shows nothing to the next
            tried = [f"({command.format(home=home, secret=secret)}\n)" for secret in SECRETS]
            result = ran(shell, "\n".join(tried))
            assert "of mine" not in told(result), command
        for secret in SECRETS:
            assert "The sandbox may have stopped this." in told(ran(shell, f"cat {home}/{secret}"))
            assert "of mine" in told(ran(shell, f"cat {home}/{secret}", outside=True))


def test_tools_and_what_is_named_can_be_read_in_the_home(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, work = tmp_path / "home", tmp_path / "home" / "work"
    files = (
        "tool/bin/run",
        "tool/lib/part",
        ".gitconfig",
        "named/file",
        ".local/bin/other",
        "python/bin/python3",
        "no",
    )
    for name in files:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("#!/bin/sh\necho read\n" if "/bin/" in name else "read\n")
        (home / name).chmod(0o755)
    (work / ".venv/bin").mkdir(parents=True)
    (work / ".venv/pyvenv.cfg").write_text(f"home = {home}/python/bin\n")
    (work / ".venv/bin/python").symlink_to(home / "python/bin/python3")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", f"{home}/tool/bin:{home}/.local/bin:{os.environ['PATH']}")
    monkeypatch.setenv("FANOUT_SHELL_READS", f"{home}/named{os.pathsep}~/nowhere")
    monkeypatch.setenv("FANOUT_SHELL_SANDBOX", kind.lower())
    words = ("run", "cat ~/tool/lib/part", "cat ~/.gitconfig", "cat ~/named/file", "other", ".venv/bin/python")
    with StdioClient("console_app.servers.shell", cwd=work) as shell:
        for command in words:
            assert told(ran(shell, command)).startswith("read\n"), command
        assert "read\n" not in told(ran(shell, "cat ~/no ~/.local/bin/none"))
        assert ran(shell, "echo x > ~/new || echo x > ~/tool/new")["structuredContent"]["exit_code"] != 0


def test_of_a_home_that_is_the_working_folder_names_with_a_dot_are_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not holds("bubblewrap"):
        pytest.skip("bubblewrap does not work here")
    for name in (".ssh/key", ".netrc", "paper"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("mine\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    with StdioClient("console_app.servers.shell", cwd=tmp_path) as shell:
        assert told(ran(shell, "cat paper .netrc; ls .ssh; cat .ssh/key; echo new > file")).count("mine") == 1
    assert (tmp_path / "file").read_text() == "new\n"


def test_keys_of_the_kernel_and_rights_of_root_are_out_of_reach(shell: StdioClient) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if os.uname().machine != "x86_64" or (key := libc.syscall(248, b"user", b"fanout-test", b"mine", 4, -3)) < 0:
        pytest.skip("no keys of the kernel here")
    read = f"b = ctypes.create_string_buffer(9); ctypes.CDLL(None).syscall(250, 11, {key}, b, 9); print(b.raw)"
    assert "mine" not in told(ran(shell, f"python3 -c 'import ctypes; {read}'"))
    assert told(ran(shell, "grep CapEff /proc/self/status")).split()[1] == "0" * 16
    same = "cat /proc/sys/kernel/core_pattern > now; cat now > /proc/sys/kernel/core_pattern"
    assert ran(shell, same)["structuredContent"]["exit_code"] != 0
    vsock = "import socket; socket.socket(40, socket.SOCK_STREAM)"
    assert ran(shell, f"python3 -c '{vsock}'")["structuredContent"]["exit_code"] != 0


OF_OTHERS = """
import array, contextlib, ctypes, fcntl, os, resource, sys
there, victim, key = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
libc = ctypes.CDLL(None)
libc.shmat.restype = ctypes.c_void_p
for change in (
    lambda: resource.prlimit(victim, resource.RLIMIT_NOFILE, (9, 9)),
    lambda: os.setpriority(os.PRIO_PROCESS, victim, 19),
    lambda: os.setxattr(there, "user.fanout", b"x"),
    lambda: os.chown(there, -1, os.getgroups()[-1]),
    lambda: fcntl.ioctl(os.open(there, os.O_RDONLY), 0x40086602, array.array("l", [0x40])),
    lambda: ctypes.memset(libc.shmat(libc.shmget(key, 4096, 0), None, 0), 66, 4),
    lambda: libc.msgsnd(libc.msgget(key, 0), (ctypes.c_char * 12)(1), 4, 0o4000),
):
    if change.__code__.co_names[0] != "ctypes" or libc.shmget(key, 4096, 0) >= 0:
        with contextlib.suppress(OSError):
            change()
"""


@pytest.mark.skipif(sys.platform != "linux" or os.uname().machine != "x86_64", reason="numbers of x86-64")
def test_files_and_processes_of_others_keep_attributes_limits_and_memory(shell: StdioClient, work: Path) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.shmat.restype = ctypes.c_void_p
    key = 0x46000000 | os.getpid()
    memory, queue = libc.shmget(key, 4096, 0o1600), libc.msgget(key, 0o1600)
    with tempfile.NamedTemporaryFile(dir="/var/tmp") as there, subprocess.Popen(("sleep", "600")) as victim:
        (work / "change.py").write_text(OF_OTHERS)

        def state() -> list[object]:
            attributes = array.array("l", [0])
            fcntl.ioctl(there.fileno(), 0x80086601, attributes)
            process = Path(f"/proc/{victim.pid}")
            return [
                *(attributes, os.listxattr(there.name), os.stat(there.name).st_gid),
                *((process / "limits").read_text(), os.getpriority(os.PRIO_PROCESS, victim.pid)),
                ctypes.string_at(libc.shmat(memory, None, 0), 4),
                libc.msgrcv(queue, (ctypes.c_char * 64)(), 32, 0, 0o4000),
            ]

        try:
            before = state()
            ran(shell, f"python3 change.py {there.name} {victim.pid} {key}")
            assert state() == before
        finally:
            victim.kill()
            libc.shmctl(memory, 0, None)
            libc.msgctl(queue, 0, None)


def test_a_program_that_a_command_puts_on_the_search_path_is_not_what_makes_the_sandbox(
    work: Path, kind: str, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FANOUT_SHELL_SANDBOX", kind.lower())
    monkeypatch.setenv("PATH", os.pathsep.join((str(work / "bin"), "bin", os.environ["PATH"])))
    (work / "bin").mkdir()
    program = f"#!/bin/sh\n/usr/bin/touch {elsewhere}/ran-$(/usr/bin/basename $0)\n"
    with StdioClient("console_app.servers.shell", cwd=work) as shell:
        copies = "chmod +x bin/bash; for n in bwrap sh env; do cp bin/bash bin/$n; done"
        plant = f"cat > bin/bash << 'END'\n{program}END\n{copies}"
        assert ran(shell, plant)["structuredContent"]["exit_code"] == 0
        assert "still" in told(ran(shell, "echo still"))
        assert "outside" in told(ran(shell, "echo outside", outside=True))
    with StdioClient("console_app.servers.shell", cwd=work) as shell:
        assert "again" in told(ran(shell, "echo again"))
    assert os.listdir(elsewhere) == []


@pytest.mark.parametrize("background", [False, True])
def test_a_service_that_goes_as_the_sandbox_is_made_stops_no_command(
    work: Path, elsewhere: Path, monkeypatch: pytest.MonkeyPatch, background: bool
) -> None:
    if not holds("bubblewrap"):
        pytest.skip("bubblewrap does not work here")
    service, program = elsewhere / "service", elsewhere / "bwrap"
    program.write_text(f'#!/bin/sh\nrm -f {service}\nexec {shutil.which("bwrap")} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join((str(elsewhere), os.environ["PATH"])))
    monkeypatch.setenv("FANOUT_SHELL_SANDBOX", "bubblewrap")
    with StdioClient("console_app.servers.shell", cwd=work) as shell, socket.socket(socket.AF_UNIX) as listens:
        assert "ready" in told(ran(shell, "echo ready"))
        listens.bind(str(service))
        listens.listen()
        said = told(ran(shell, "echo once >> file; cat file", background=background))
        said = shell.call("output", run=2, wait=20)[0] if background else said
    assert said.startswith("once\n[exit 0 in ")
    assert (work / "file").read_text() == "once\n"


@each("opened", ["echo x > {pipe}", "echo x 1<> {pipe}", "ln {pipe} mine && echo x > mine"])
def test_no_named_pipe_outside_is_written_into(shell: StdioClient, elsewhere: Path, opened: str) -> None:
    os.mkfifo(pipe := Path(tempfile.mkdtemp(dir=elsewhere)) / "pipe")
    reader = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    try:
        assert ran(shell, opened.format(pipe=pipe))["structuredContent"]["exit_code"] != 0
        with pytest.raises(BlockingIOError):
            os.read(reader, 9)
    finally:
        os.close(reader)


def test_what_begins_a_command_leaves_no_trace(work: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FANOUT_SHELL_SANDBOX", kind.lower())
    monkeypatch.setenv("LANG", "nn_NN")
    with StdioClient("console_app.servers.shell", cwd=work) as shell:
        said = told(ran(shell, "echo $PERL_BADLANG. > /dev/stdout", pty=True))
    assert said.startswith((".\r\n[exit 0 ", ".\n[exit 0 "))


def test_bubblewrap_without_landlock_says_what_it_lets_through(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not holds("bubblewrap alone"):
        pytest.skip("bubblewrap does not work here")
    monkeypatch.setenv("FANOUT_SHELL_SANDBOX", "bubblewrap alone")
    with StdioClient("console_app.servers.shell", cwd=work) as shell:
        assert "; sandboxed more weakly (bubblewrap alone)]" in told(ran(shell, "true"))
        (run,) = [tool for tool in shell.request("tools/list")["tools"] if tool["name"] == "run"]
        assert "named pipes of yours elsewhere" in run["description"]


@each(
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


def is_reached_outside_alone(shell: StdioClient, service: socket.socket, asked: str) -> None:
    """A command reaches it at `asked` only where it runs outside."""
    if service.type is socket.SOCK_STREAM:
        service.listen()
    service.setblocking(False)
    kind = int(service.type)
    connect = f"import socket; s = socket.socket(socket.AF_UNIX, {kind}); s.connect({asked!r}); s.send(b'x')"
    assert ran(shell, f"python3 - << 'END'\n{connect}\nEND")["structuredContent"]["exit_code"] != 0
    with pytest.raises(BlockingIOError):
        service.accept() if service.type is socket.SOCK_STREAM else service.recv(9)
    assert "reached\n" in told(ran(shell, f"python3 - << 'END'\n{connect}\nprint('reached')\nEND", outside=True))


@each(
    "listens",
    [
        *("outside", "in the folder", "datagrams", "a link to it", "a relative name"),
        *("renamed", "a relative name of a folder that was left", "a relative name that is stale where commands start"),
    ],
)
def test_no_service_of_this_machine_is_reached(
    shell: StdioClient, work: Path, elsewhere: Path, monkeypatch: pytest.MonkeyPatch, listens: str
) -> None:
    elsewhere = Path(tempfile.mkdtemp(dir=work if listens == "in the folder" else elsewhere))
    asked = place = str(elsewhere / "service")
    if listens == "a link to it":
        asked = str(work / "link")
        (work / "link").symlink_to(place)
    way = socket.SOCK_DGRAM if listens == "datagrams" else socket.SOCK_STREAM
    with socket.socket(socket.AF_UNIX, way) as service, monkeypatch.context() as patch:
        if listens.startswith("a relative name"):
            patch.chdir(elsewhere)
        service.bind("service" if listens.startswith("a relative name") else place)
        if listens == "renamed":
            os.rename(place, asked := str(elsewhere / "renamed"))
        if listens.endswith(("that was left", "where commands start")):
            patch.chdir(work.parent)
        if listens.endswith("where commands start"):
            with socket.socket(socket.AF_UNIX) as gone:
                gone.bind(str(work / "service"))
        is_reached_outside_alone(shell, service, asked)


def test_no_service_with_a_name_of_its_own_is_reached_where_there_is_a_network(
    work: Path, kind: str, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kernel_sandbox.version() < 6:
        pytest.skip("this kernel can't keep such names apart")
    monkeypatch.setenv("FANOUT_SHELL_SANDBOX", kind.lower())
    monkeypatch.setenv("FANOUT_SHELL_NETWORK", "1")
    with socket.socket(socket.AF_UNIX) as service, StdioClient("console_app.servers.shell", cwd=work) as shell:
        service.bind(asked := f"\0{elsewhere}/service")
        is_reached_outside_alone(shell, service, asked)


def test_no_service_of_a_hidden_folder_is_reached_by_a_second_name(
    work: Path, kind: str, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FANOUT_SHELL_SANDBOX", kind.lower())
    monkeypatch.setenv("HOME", str(elsewhere / "home"))
    (elsewhere / "home").mkdir()
    with socket.socket(socket.AF_UNIX) as service, StdioClient("console_app.servers.shell", cwd=work) as shell:
        service.bind(str(elsewhere / "home" / "service"))
        os.link(elsewhere / "home" / "service", asked := elsewhere / "second")
        is_reached_outside_alone(shell, service, str(asked))


def test_git_that_goes_on_without_its_configuration_says_why(shell: StdioClient, kind: str) -> None:
    result = ran(
        shell,
        "git checkout -q -b x; git -c user.name=a -c user.email=b commit -q --allow-empty -m x; "
        "git branch y; git branch -d y",
    )
    assert result["structuredContent"]["exit_code"] == 0
    assert result["structuredContent"]["stopped_by_sandbox"] == (kind == "bubblewrap")


WORKS = (
    "echo x > file && cat file && rm file",
    "mkdir -p a/b && touch a/b/c && rm -r a",
    "echo x > $TMPDIR/file && cat $TMPDIR/file",
    "seq 20000; cat $TMPDIR/../output/1.txt | tail -1",
    "cat <<< text && : > /dev/null",
    "git -c user.name=a -c user.email=b commit -q --allow-empty -m one",
    'python3 -c "import multiprocessing as m; m.Lock(); print(m.cpu_count())"',
    "python3 -c \"import socket; a, b = socket.socketpair(); a.send(b'x'); print(b.recv(1))\"",
    "ls /etc >/dev/null && cat /etc/hostname >/dev/null",
    "git init -q new && git -C new status >/dev/null && git -C new config user.name me && cat new/.git/config",
    "git worktree add -q --orphan -b b tree 2>/dev/null || git init -q tree; git -C tree status >/dev/null",
    "git init -q new && git -C new config core.autocrlf input && git -C new config pull.rebase true",
    "sleep 0.01 & wait",
)


@each("command", WORKS)
def test_ordinary_work_works(shell: StdioClient, work: Path, project: Path, command: str) -> None:
    filled_anew(work, project)
    result = ran(shell, command)
    assert result["structuredContent"]["exit_code"] == 0, told(result)
    assert not result["structuredContent"]["stopped_by_sandbox"]
    assert not list(work.rglob("*.untrusted*"))


def test_processes_of_a_command_reach_each_other_on_files(shell: StdioClient, kind: str) -> None:
    code = "import socket as s; a = s.socket(1); a.bind('own'); a.listen(); s.socket(1).connect('own')"
    assert (ran(shell, f'python3 -c "{code}"')["structuredContent"]["exit_code"] == 0) == (kind == "bubblewrap")


@pytest.mark.parametrize("command", ["npm view left-pad", "pip download left-pad"])
def test_what_wants_the_network_ends_soon_and_says_why(shell: StdioClient, command: str) -> None:
    if not shutil.which(command.split()[0]):
        pytest.skip("it is not there")
    result = ran(shell, f"{command} 2>&1 | tail -4", timeout=60)
    assert result["structuredContent"]["ended"] == "by itself"
    assert result["structuredContent"]["stopped_by_sandbox"], told(result)


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
        assert "not sandboxed: FANOUT_SHELL_SANDBOX=off." in run["description"]
    monkeypatch.setenv("FANOUT_SHELL_SANDBOX", "none-such")
    with StdioClient("console_app.servers.shell", cwd=work) as shell:
        (run,) = [tool for tool in shell.request("tools/list")["tools"] if tool["name"] == "run"]
        assert "not sandboxed: FANOUT_SHELL_SANDBOX=none-such, which does not work here." in run["description"]
