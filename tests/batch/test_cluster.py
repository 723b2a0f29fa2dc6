"""Batches on a Dask cluster of real processes: the same results, whoever is killed meanwhile."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.batch.certificates import Authority
from tests.batch.cluster import Cluster, cluster_of
from tests.batch.conftest import results
from tests.batch.journal import Journal
from tests.patience import PATIENCE, until_there
from tests.program.process import Done, Fanout


@pytest.fixture
def cluster(program: Fanout, tmp_path: Path) -> Iterator[Cluster]:
    with cluster_of(program, tmp_path, 1) as running:
        yield running


def told(done: Done) -> list[str]:
    """The lines of its errors, but for the one that a client says which is there before the workers."""
    return [line for line in done.err.splitlines() if not line.startswith("The cluster has no workers yet")]


def test_a_killed_worker_loses_nothing_and_changes_nothing_twice(program: Fanout, cluster: Cluster) -> None:
    journal = Journal(program)
    journal.write(("change", "quick"), ("change", "wait-c"), ("look", "wait-l"), ("look", "quick-l"))
    process = program.start(*journal.arguments(*cluster.engine))
    journal.wait("wait-c", "wait-l")
    until_there(lambda: journal.statuses().keys() >= {"quick", "quick-l"}, "the quick ones")
    cluster.workers[0].send_signal(signal.SIGKILL)
    cluster.add_worker()
    until_there(lambda: journal.begun()["wait-l"] == 2, "the item that only reads to run elsewhere")
    journal.go()
    _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert journal.statuses() == {
        "quick": "completed",
        "quick-l": "completed",
        "wait-c": "interrupted",
        "wait-l": "completed",
    }
    assert journal.begun() == {"quick": 1, "quick-l": 1, "wait-c": 1, "wait-l": 2}
    assert len(journal.results.read_text().splitlines()) == 4
    assert "Traceback" not in said.decode()
    assert not journal.notes.exists()
    again = program.run(*journal.arguments(*cluster.engine, "--rerun-changes"))
    assert again.code == 0, again.err
    assert journal.begun()["wait-c"] == 2


def test_a_killed_client_finds_what_its_workers_ended_meanwhile(program: Fanout, cluster: Cluster) -> None:
    journal = Journal(program)
    journal.write(("change", "wait-c"), ("look", "wait-l"))
    process = program.start(*journal.arguments(*cluster.engine))
    journal.wait("wait-c", "wait-l")
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=PATIENCE)
    journal.go()
    again = program.run(*journal.arguments(*cluster.engine))
    assert again.code == 0, again.err
    assert journal.statuses() == {"wait-c": "completed", "wait-l": "completed"}
    assert journal.begun() == {"wait-c": 1, "wait-l": 1}
    assert not journal.notes.exists()


def test_a_cluster_that_is_gone_is_one_line_and_nothing_is_lost(program: Fanout, cluster: Cluster) -> None:
    journal = Journal(program)
    journal.write(("change", "quick"), ("change", "wait-c"), ("look", "wait-l"))
    process = program.start(*journal.arguments(*cluster.engine))
    journal.wait("wait-c", "wait-l")
    until_there(lambda: "quick" in journal.statuses(), "the quick one")
    cluster.scheduler.send_signal(signal.SIGKILL)
    _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert "Cluster: it is gone: " in said.decode()
    assert "Traceback" not in said.decode()
    assert journal.statuses() == {"quick": "completed"}
    journal.go()
    local = program.run(*journal.arguments())
    assert local.code == 1
    assert journal.statuses() == {"quick": "completed", "wait-c": "interrupted", "wait-l": "completed"}
    assert journal.begun()["wait-c"] == 1


def test_items_of_a_model_run_on_processes_of_this_machine(program: Fanout) -> None:
    program.write("items.txt", "".join(f"p{n}\n" for n in range(12)))
    done = program.run(
        "batch", "items.txt", "-o", "r.jsonl", "-m", "offline/rehearsal", "--mcp", "calculator", "--engine", "dask"
    )
    assert done.code == 0, done.err
    there = results(program.cwd / "r.jsonl")
    assert len(there) == 12
    assert {one["status"] for one in there.values()} == {"completed"}
    assert "12 of 12 items done: 12 completed." in done.err


def test_a_worker_without_the_servers_is_of_no_use(program: Fanout, cluster: Cluster) -> None:
    program.write("home/mcp.json", json.dumps({"mcpServers": {"s": {"command": "no-such-program-anywhere"}}}))
    program.write("items.txt", "p\n")
    done = program.run("batch", "items.txt", "-o", "r.jsonl", "-m", "offline/rehearsal", *cluster.engine)
    assert done.code == 1
    assert len(told(done)) == 1
    assert "is of no use: Server s failed" in done.err
    assert "Traceback" not in done.err


def test_a_worker_of_another_version_is_refused_with_words_and_gets_no_items(program: Fanout, tmp_path: Path) -> None:
    program.write("other/sitecustomize.py", "import console_app._version\nconsole_app._version.__version__ = '0.0.7'\n")
    program.write("items.txt", "p\n")
    with cluster_of(program, tmp_path, 0) as cluster:
        path = program.environment()["PYTHONPATH"]
        cluster.add_worker(PYTHONPATH=f"{program.cwd / 'other'}:{path}")
        done = program.run(
            "batch", "items.txt", "-o", "r.jsonl", "-m", "offline/rehearsal", "--no-mcp", *cluster.engine
        )
    assert done.code == 1
    assert "it has Fanout 0.0.7, and here is " in done.err
    assert len(told(done)) == 1
    assert not (program.cwd / "r.jsonl").exists()


@pytest.mark.parametrize(
    ("engine", "says"),
    [
        ("dask://10.1.2.3:8786", "whoever reaches it owns the workers of a scheduler without TLS"),
        ("dask://example.test:8786", "whoever reaches it owns the workers of a scheduler without TLS"),
        ("dask://nowhere", "is no engine"),
        ("ray://127.0.0.1:1", "is no engine"),
        ("dask://127.0.0.1:x", "is no engine"),
    ],
)
def test_an_engine_that_must_not_be_used_is_one_line(program: Fanout, engine: str, says: str) -> None:
    program.write("items.txt", "p\n")
    done = program.run("batch", "items.txt", "-o", "r.jsonl", "-m", "offline/rehearsal", "--engine", engine)
    assert done.code == 2
    assert says in done.err
    assert done.err.count("\n") == 1


def test_with_tls_only_who_has_a_certificate_of_its_authority_is_let_in(program: Fanout, tmp_path: Path) -> None:
    ours, other = Authority(tmp_path, "ours"), Authority(tmp_path, "other")
    program.write("items.txt", "p\n")
    run = ("batch", "items.txt", "-o", "r.jsonl", "-m", "offline/rehearsal", "--no-mcp", "--engine")
    with cluster_of(program, tmp_path, 1, ours.options) as cluster:
        assert cluster.address.startswith("tls://")
        none = program.run(*run, cluster.address)
        plain = program.run(*run, cluster.address.replace("tls:", "dask:"), "--insecure")
        stranger = program.run(*run, cluster.address, env=other.client(ours.ca))
        let_in = program.run(*run, cluster.address, env=ours.client(ours.ca))
    for refused, says in (
        (none, "needs a certificate"),
        (plain, "can't be reached: "),
        (stranger, "can't be reached: "),
    ):
        assert (refused.code, refused.err.count("\n")) == (1, 1)
        assert says in refused.err
    assert let_in.code == 0, let_in.err
    assert results(program.cwd / "r.jsonl")["1"]["status"] == "completed"
