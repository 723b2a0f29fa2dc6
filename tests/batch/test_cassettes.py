"""A batch that was recorded runs again without its model and its servers, and what differs is found."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tests.batch.conftest import results
from tests.batch.models import calculating
from tests.batch.test_batch_command import batch, items
from tests.each import each
from tests.headless.inside import Inside
from tests.wire_server import WireServer

AGENT = Path(__file__).parents[1] / "acp_client" / "scripted_agent.py"
SAME = ("status", "answer", "error", "model", "calls", "usage")


def said(path: Path) -> dict[str, dict[str, Any]]:
    """Return the outcome of each item, without its times."""
    told: dict[str, dict[str, Any]] = {}
    for name, one in results(path).items():
        kept = {field: one[field] for field in SAME}
        kept["calls"] = [{**call, "duration_ms": 0} for call in one["calls"]]
        told[name] = kept
    return told


def recorded(fanout: Inside, *rows: Any) -> WireServer:
    """A batch that ran with --record, and its model, which is gone."""
    with WireServer(calculating()) as server:
        done = batch(fanout, server, items(fanout, *rows), "--record", "tape")
    assert done.code == 0, done.err
    return server


def replayed(fanout: Inside) -> Any:
    """The same without a model, a key or a server."""
    return fanout.run("batch", "items.jsonl", "-o", "again.jsonl", "--replay", "tape")


def test_a_recorded_batch_runs_again_without_model_and_servers(fanout: Inside) -> None:
    server = recorded(fanout, "hello", "calc: 6*7", "calc: 1/0")
    sent = len(server.requests)
    done = replayed(fanout)
    assert done.code == 0, done.err
    assert said(fanout.cwd / "again.jsonl") == said(fanout.cwd / "r.jsonl")
    assert any(one["calls"] for one in results(fanout.cwd / "again.jsonl").values())
    assert len(server.requests) == sent
    same = fanout.run("diff", "r.jsonl", "again.jsonl", "--junit", "report.xml")
    assert (same.code, same.out) == (0, ""), same.out
    assert "3 items compared, none differ" in same.err
    assert 'failures="0"' in (fanout.cwd / "report.xml").read_text()


def test_another_prompt_is_not_answered_from_the_recording(fanout: Inside) -> None:
    recorded(fanout, "hello")
    items(fanout, "good-bye")
    done = replayed(fanout)
    assert done.code == 1
    assert "another request here" in results(fanout.cwd / "again.jsonl")["1"]["error"]


def test_an_item_without_a_recording_says_so(fanout: Inside) -> None:
    recorded(fanout, "hello")
    items(fanout, "hello", "one more")
    assert replayed(fanout).code == 1
    there = results(fanout.cwd / "again.jsonl")
    assert there["1"]["status"] == "completed"
    assert "--record" in there["2"]["error"]


def test_what_a_recording_lacks_is_named(fanout: Inside) -> None:
    recorded(fanout, "calc: 6*7")
    (tape,) = (path for path in (fanout.cwd / "tape").rglob("*") if path.is_file())
    lines = tape.read_text().splitlines()
    (call,) = (line for line in lines if "call" in json.loads(line))
    for kept, said in (
        ([line for line in lines if line != lines[-1]], "no further answer"),
        ([line for line in lines if line != call], "another request here"),
        (["{}"], "is no recording"),
        (["half a li"], "is no recording"),
    ):
        tape.write_text("".join(f"{line}\n" for line in kept))
        (fanout.cwd / "again.jsonl").unlink(missing_ok=True)
        assert replayed(fanout).code == 1, said
        (one,) = results(fanout.cwd / "again.jsonl").values()
        assert said in one["error"]
        if said == "another request here":  # the call failed, so the model is told otherwise
            assert [made["outcome"] for made in one["calls"]] == ["failed"]


def test_an_agent_is_not_recorded_and_says_so(fanout: Inside) -> None:
    command = json.dumps([sys.executable, "-S", str(AGENT), "words"])
    fanout.write("home/config.toml", f"[agents.helper]\ncommand = {command}\n")
    items(fanout, "hello")
    for arguments, said in (((), ""), (("--record", "tape"), "an agent")):
        out = f"{len(arguments)}.jsonl"
        done = fanout.run("batch", "items.jsonl", "-m", "acp/helper", "-o", out, *arguments)
        (one,) = results(fanout.cwd / out).values()
        assert said in (one["error"] or "")
        assert done.code == (1 if said else 0), one["error"]


def test_calls_in_bulk_are_recorded_too(fanout: Inside) -> None:
    rows = [{"tool": "calculator.evaluate", "arguments": {"expression": f"{n}*2"}} for n in range(3)]
    items(fanout, *rows, name="calls.jsonl")
    assert fanout.run("call", "--from", "calls.jsonl", "-o", "r.jsonl", "--record", "tape").code == 0
    done = fanout.run("call", "--from", "calls.jsonl", "-o", "again.jsonl", "--replay", "tape")
    assert done.code == 0, done.err
    assert said(fanout.cwd / "again.jsonl") == said(fanout.cwd / "r.jsonl")


def test_a_recording_holds_no_secret(fanout: Inside) -> None:
    secret = "sk-verysecret-0123456789abcdef"
    with WireServer(calculating()) as server:
        names = items(fanout, f"my key is {secret}")
        model = ("-m", "openai/test-model", "--base-url", server.base_url("openai-chat"))
        recording = ("batch", names, "-o", "r.jsonl", "--record", "tape", *model)
        assert fanout.run(*recording, env={"SOME_API_KEY": secret}).code == 0
        assert fanout.run(*recording[:3], "a.jsonl", "--replay", "tape", *model, env={"SOME_API_KEY": secret}).code == 0
    tape = "".join(path.read_text() for path in (fanout.cwd / "tape").iterdir())
    assert "verysecret" not in tape
    assert oct((fanout.cwd / "tape" / "1.jsonl").stat().st_mode)[-3:] == "600"


def changed(one: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {**one, **fields}


@each(
    "change",
    [
        ("status", lambda one: changed(one, status="failed", error="no"), "status: completed → failed"),
        ("answer", lambda one: changed(one, answer="x" + one["answer"]), "answer: “"),
        ("item", lambda one: changed(one, item="0" * 16), "the item is another"),
        ("structured", lambda one: changed(one, structured={"a": 1}), "structured: "),
        ("no calls", lambda one: changed(one, calls=[]), "calls: 1 → 0"),
        (
            "arguments",
            lambda one: changed(one, calls=[changed(one["calls"][0], arguments={"expression": "1"})]),
            "call 1, calculator.evaluate, arguments: ",
        ),
        (
            "result",
            lambda one: changed(one, calls=[changed(one["calls"][0], content="43", outcome="failed")]),
            "call 1, calculator.evaluate, outcome: succeeded → failed",
        ),
        ("another tool", lambda one: changed(one, calls=[changed(one["calls"][0], tool="other")]), "calculator.other"),
        ("gone", lambda one: None, "only in"),
        ("times alone", lambda one: changed(one, started_at=1.0, finished_at=2.0, usage={}, tries=2), ""),
    ],
)
def test_each_difference_is_told(change: Any, fanout: Inside) -> None:
    _, make, says = change
    rows = [{"tool": "calculator.evaluate", "arguments": {"expression": "6*7"}}]
    items(fanout, *rows, name="calls.jsonl")
    assert fanout.run("call", "--from", "calls.jsonl", "-o", "r.jsonl").code == 0
    one = results(fanout.cwd / "r.jsonl")["1"]
    other = make(one)
    (fanout.cwd / "other.jsonl").write_text("" if other is None else json.dumps(other) + "\n")
    done = fanout.run("diff", "r.jsonl", "other.jsonl", "--junit", "report.xml")
    assert done.code == (1 if says else 0), done.out
    assert says in done.out
    assert ("failure message" in (fanout.cwd / "report.xml").read_text()) is bool(says)
    told = json.loads(fanout.run("diff", "r.jsonl", "other.jsonl", "--json").out)
    assert [len(told["differing"]), told["items"]] == [1 if says else 0, 1]
    (fanout.cwd / "r.jsonl").unlink()


def test_what_is_no_file_of_results_is_refused(fanout: Inside) -> None:
    fanout.write("a.jsonl", "{}\n")
    assert "a.jsonl:1 is no result of a batch" in fanout.run("diff", "a.jsonl", "a.jsonl").err
    done = fanout.run("diff", "nowhere.jsonl", "a.jsonl")
    assert (done.code, "can't read" in done.err) == (2, True)
    for more in (("--record", "a", "--replay", "."), ("--replay", "nowhere"), ("--record", "a", "--engine", "dask")):
        fanout.write("items.jsonl", '{"prompt": "x"}\n')
        assert fanout.run("batch", "items.jsonl", "-o", "r.jsonl", *more).code == 2
