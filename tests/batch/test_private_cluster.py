"""The cluster that `--engine dask` starts is this user's alone, and whatever goes wrong with one is a line."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import psutil
import pytest

from tests.batch.certificates import Authority
from tests.batch.journal import Journal
from tests.patience import PATIENCE, until_there
from tests.program.process import Fanout

KNOCKING = Path(__file__).with_name("knocking.py")
USERS = ["-", *(["nobody"] if os.getuid() == 0 else [])]  # only root may try it as another user
RUN = ("batch", "items.txt", "-o", "r.jsonl", "-m", "offline/rehearsal", "--no-mcp", "--engine")


def test_who_has_not_its_keys_gets_into_nothing_that_the_cluster_opens(program: Fanout) -> None:
    journal = Journal(program)
    journal.write(("change", "wait"))
    process = program.start(*journal.arguments("--engine", "dask"))
    journal.wait("wait")
    listening = [
        one.laddr
        for each in (psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True))
        for one in each.net_connections("tcp")
        if one.status == psutil.CONN_LISTEN
    ]
    knocked = {user: knock(user, [port for _, port in listening]) for user in USERS}
    journal.go()
    _, said = process.communicate(timeout=PATIENCE)
    assert knocked == {user: [] for user in USERS}
    assert listening
    assert {host for host, _ in listening} == {"127.0.0.1"}
    assert process.returncode == 0, said.decode()
    assert journal.begun() == {"wait": 1}


def knock(user: str, ports: Sequence[int]) -> list[object]:
    """Return what a user got at these ports."""
    command = [sys.executable, "-P", str(KNOCKING), user, *map(str, ports)]
    knocking = subprocess.run(command, capture_output=True, cwd="/", timeout=PATIENCE, check=False)
    assert knocking.returncode == 0, knocking.stderr.decode()
    return json.loads(knocking.stdout)


def test_its_workers_import_nothing_from_a_folder_that_others_may_have_made(program: Fanout, tmp_path: Path) -> None:
    """Dask's own folder has one name for all users, and whoever makes it first may write there."""
    shared = tmp_path / "shared"
    theirs = shared / "dask-scratch-space"
    theirs.mkdir(parents=True)
    for each in (shared, theirs):
        each.chmod(0o1777)
    journal = Journal(program)
    journal.write(("change", "wait"))
    process = program.start(*journal.arguments("--engine", "dask"), env={"TMPDIR": str(shared)})
    journal.wait("wait")
    made = {one.relative_to(shared).parts[0] for one in shared.rglob("*")} - {theirs.name}
    modes = {stat.S_IMODE((shared / name).stat().st_mode) for name in made}
    inside = list(theirs.iterdir())
    journal.go()
    _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, said.decode()
    assert (inside, modes) == ([], {0o700})
    assert list(shared.iterdir()) == [theirs]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
def test_a_scheduler_without_tls_on_this_machine_is_open_to_its_other_users(program: Fanout, host: str) -> None:
    program.write("items.txt", "p\n")
    done = program.run(*RUN, f"dask://{host}:8786")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "other users of this machine" in done.err
    assert "--insecure" in done.err


@pytest.mark.parametrize("wrong", ["not there", "no certificate"])
@pytest.mark.parametrize("which", ["ca", "cert", "key"])
def test_certificates_that_cannot_be_read_are_named(program: Fanout, tmp_path: Path, which: str, wrong: str) -> None:
    authority = Authority(tmp_path, "ours")
    env = authority.client(authority.ca)
    path = getattr(authority, which)
    path.unlink()
    if wrong == "no certificate":
        path.write_text("hello\n")
    program.write("items.txt", "p\n")
    done = program.run(*RUN, "tls://127.0.0.1:1", env=env)
    assert (done.code, done.err.count("\n")) == (1, 1)
    assert str(path) in done.err


@pytest.mark.parametrize("all_of_them", [False, True], ids=["one", "all"])
def test_a_worker_killed_while_the_cluster_starts_is_no_crash(program: Fanout, all_of_them: bool) -> None:
    program.write("items.txt", "p\n")
    process = program.start(*RUN, "dask")
    killed: set[int] = set()
    started: list[psutil.Process] = []

    def one_more() -> bool:
        for child in _workers(process.pid):
            started.append(child)
            if child.pid not in killed:
                killed.add(child.pid)
                child.kill()
                return not all_of_them
        return process.poll() is not None

    until_there(one_more, "a worker")
    _, said = process.communicate(timeout=PATIENCE)
    lines = said.decode().splitlines()
    assert killed
    until_there(lambda: not any(one.is_running() for one in started), "all workers to be gone")
    assert "unexpected" not in said.decode()
    assert "Traceback" not in said.decode()
    if all_of_them:
        assert (process.returncode, len(lines)) == (1, 1)
    if process.returncode:
        assert lines[-1].startswith("fanout: Cluster: ")
    assert not list((program.home / "state").rglob("crash*"))


def _workers(pid: int) -> list[psutil.Process]:
    """Processes that the run started for its cluster, however young."""
    try:
        return [one for one in psutil.Process(pid).children() if "spawn_main" in " ".join(one.cmdline())]
    except psutil.NoSuchProcess:
        return []
