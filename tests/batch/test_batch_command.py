"""`fanout batch`: many prompts, each a whole turn with its calls; what is done isn't done again."""

from __future__ import annotations

import json
import os
from collections import Counter

import jsonschema
import pytest

from console_app.batch import ItemPlan
from console_app.batch.results_file import ChangeNotes
from console_app.command_line.json_outputs import schema
from console_app.domain.batch import ItemResult, ItemUsage
from console_app.domain.safe_text import json_line
from tests.batch.conftest import results
from tests.batch.models import calculating, prompt_of
from tests.headless.inside import Inside
from tests.page.parts import faults
from tests.program.process import Done
from tests.wire_bytes import Answer, Text
from tests.wire_server import Reply, Request, WireServer


def items(fanout: Inside, *rows: object, name: str = "items.jsonl") -> str:
    fanout.write(name, "".join(json.dumps(row) + "\n" for row in rows))
    return name


def batch(fanout: Inside, server: WireServer, *arguments: str, stdin: bytes = b"") -> Done:
    model = ("-m", "openai/test-model", "--base-url", server.base_url("openai-chat"))
    servers = () if {"--mcp", "--no-mcp", "--mcp-config"} & {*arguments} else ("--mcp", "calculator")
    return fanout.run("batch", *arguments, "-o", "r.jsonl", *model, *servers, stdin=stdin)


def found(fanout: Inside) -> dict[str, dict[str, object]]:
    return results(fanout.cwd / "r.jsonl")


def test_every_item_is_a_turn_with_its_calls(fanout: Inside) -> None:
    with WireServer(calculating()) as server:
        names = items(fanout, {"id": "a", "x": "2^10"}, {"x": "1/3"}, {"x": "1+1\ncalc: 2+2"})
        done = batch(fanout, server, names, "--prompt", "calc: {x}")
    assert (done.code, done.out) == (0, "")
    there = found(fanout)
    assert there["a"]["answer"] == "It is 1024"
    assert there["3"]["answer"] == "It is 2, 4"
    assert [call["outcome"] for call in there["3"]["calls"]] == ["succeeded"] * 2  # type: ignore[index,attr-defined]
    assert there["a"]["usage"]["input_tokens"] == 20  # type: ignore[index]  of two requests
    assert (there["2"]["status"], there["2"]["source"]) == ("completed", "items.jsonl:2")
    assert "3 of 3 items done: 3 completed." in done.err
    assert "Durations:" in done.err


def test_what_has_a_result_is_not_run_again(fanout: Inside) -> None:
    with WireServer(calculating()) as server:
        names = items(fanout, *({"text": f"t{n}"} for n in range(5)))
        assert batch(fanout, server, names, "--limit", "2").code == 0
        assert len(server.requests) == len(found(fanout)) == 2
        assert batch(fanout, server, names).code == 0
        assert Counter(map(prompt_of, server.requests)) == Counter(f"t{n}" for n in range(5))
        again = batch(fanout, server, names)
        assert (again.code, len(server.requests)) == (0, 5)
        assert "Nothing is left to do: all 5 items have a result." in again.err


def test_what_failed_is_run_again_when_it_is_asked_for(fanout: Inside) -> None:
    broken = [True]

    def odd(prompt: str, request: Request) -> Reply | None:
        return Reply.json({"error": {"message": "no"}}, 400) if broken[0] and prompt == "bad" else None

    with WireServer(calculating(odd)) as server:
        names = items(fanout, "good", "bad")
        assert batch(fanout, server, names).code == 1
        assert found(fanout)["2"]["status"] == "failed"
        left = batch(fanout, server, names)
        assert (left.code, len(server.requests)) == (1, 2)
        assert "1 of them failed (--retry failed runs those again)" in left.err
        broken[0] = False
        assert batch(fanout, server, names, "--retry", "failed").code == 0
        assert len(server.requests) == 3
    assert found(fanout)["2"]["answer"] == "You said bad"


def test_a_file_of_another_run_is_refused_and_left_alone(fanout: Inside) -> None:
    with WireServer(calculating()) as server:
        names = items(fanout, "one")
        assert batch(fanout, server, names).code == 0
        before = (fanout.cwd / "r.jsonl").read_bytes()
        done = batch(fanout, server, names, "--prompt", "Now {text}")
    assert done.code == 2
    assert "r.jsonl:1 is of another run: its item “1” was another than items.jsonl:1" in done.err
    assert (fanout.cwd / "r.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("none.jsonl",), "can't read none.jsonl: No such file or directory"),
        (("items.jsonl", "--prompt", "{title}"), "items.jsonl:1: no field “title”, which the template names"),
        (("items.jsonl", "--prompt", "a}"), "--prompt: the } at character 2 names no field"),
        (("items.jsonl", "--schema", "none.json"), "--schema none.json: "),
    ],
)
def test_a_mistake_is_one_line_and_nothing_runs(fanout: Inside, arguments: tuple[str, ...], says: str) -> None:
    with WireServer(calculating()) as server:
        items(fanout, "one")
        done = batch(fanout, server, *arguments)
        assert not server.requests
    assert done.code == 2
    assert says in done.err
    assert len(done.err.splitlines()) == 1


def test_a_model_that_is_not_there_is_told_with_its_line(fanout: Inside) -> None:
    rows = items(fanout, {"prompt": "p"}, {"prompt": "p", "model": "nobody/x"}, {"prompt": "p", "model": "scripted/no"})
    done = fanout.run("batch", rows, "-o", "r.jsonl", "-m", "offline/rehearsal")
    assert done.code == 2
    assert "items.jsonl:2: no provider is called" in done.err
    done = fanout.run("batch", rows, "-o", "r.jsonl", "-m", "scripted/none.toml")
    assert (done.code, (fanout.cwd / "r.jsonl").exists()) == (2, False)
    assert "the script none.toml can't be read" in done.err


def test_where_results_cannot_be_written_nothing_runs(fanout: Inside) -> None:
    items(fanout, "one")
    os.mkfifo(fanout.cwd / "pipe")
    places = (("none/r.jsonl", "No such file"), (".", "Is a directory"), ("pipe", "is no regular file"))
    places += (("r.csv", "-o r.csv: results are lines of JSON; its ending is .jsonl, .ndjson or none"),)
    for output, says in (*places, ("items.jsonl", "can't be the file of items and that of results")):
        done = fanout.run("batch", "items.jsonl", "-o", output, "-m", "offline/rehearsal")
        assert (done.code, done.err.count("\n")) == (2, 1)
        assert says in done.err
    assert fanout.run("batch", "items.jsonl", "-m", "offline/rehearsal").code == 2


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--report", "none/page.html"), "--report none/page.html: there is no folder none"),
        (("--report", "."), "Is a directory"),
        (("--report", "r.jsonl"), "would take the place of another file of this run"),
        (("--report", "r.jsonl.changes"), "would take the place of another file of this run"),
        (("--report", "items.jsonl"), "would take the place of another file of this run"),
        (("--events", "."), "is in that folder too"),
        (("--report", "r.pdf"), "--report r.pdf: the report is a page; its ending is .html, .htm or none"),
        (("--report", "kept/1.jsonl", "--events", "kept"), "1.jsonl is in that folder too"),
    ],
)
def test_what_a_run_writes_takes_the_place_of_nothing(fanout: Inside, arguments: tuple[str, ...], says: str) -> None:
    (fanout.cwd / "kept").mkdir()
    with WireServer(calculating()) as server:
        names = items(fanout, "one")
        before = (fanout.cwd / names).read_bytes()
        done = batch(fanout, server, names, *arguments)
        assert not server.requests
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert says in done.err.replace(f"{fanout.cwd}/", "")
    assert (fanout.cwd / names).read_bytes() == before
    assert not (fanout.cwd / "r.jsonl").exists()


def test_events_that_cannot_be_kept_cost_no_result(fanout: Inside) -> None:
    (fanout.cwd / "kept" / "b.jsonl").mkdir(parents=True)
    with WireServer(calculating()) as server:
        rows = items(fanout, {"id": "a", "text": "a"}, {"id": "b", "text": "b"})
        done = batch(fanout, server, rows, "--events", "kept")
    assert {one["status"] for one in found(fanout).values()} == {"completed"}
    assert done.code == 0
    assert "Note: Not all events are kept: can't write " in done.err
    assert (fanout.cwd / "kept" / "a.jsonl").is_file()


def test_an_answer_that_does_not_fit_is_asked_for_once_more(fanout: Inside) -> None:
    def odd(prompt: str, request: Request) -> Answer | None:
        if prompt.startswith("That answer doesn't fit"):
            mended = "asked: good" in json.dumps(request.body["messages"])
            assert "'x' is a required property" in prompt
            return Answer(Text('```json\n{"x": 2}\n```' if mended else "{}"))
        return Answer(Text('{"x": 1}' if prompt == "asked: first" else '{"y": 1}'))

    schema = {"type": "object", "required": ["x"]}
    with WireServer(calculating(odd)) as server:
        fanout.write("s.json", json.dumps(schema))
        rows = ["asked: first", "asked: good", {"prompt": "asked: bad", "schema": {**schema, "title": "own"}}]
        done = batch(fanout, server, items(fanout, *rows), "--schema", "s.json")
        assert all("fits this JSON Schema" in json.dumps(one.body["messages"][0]) for one in server.requests)
    there = found(fanout)
    assert done.code == 1
    assert (there["1"]["structured"], there["1"]["tries"]) == ({"x": 1}, 1)
    assert (there["2"]["structured"], there["2"]["tries"], there["2"]["status"]) == ({"x": 2}, 2, "completed")
    assert (there["3"]["status"], there["3"]["structured"]) == ("invalid", None)
    assert "'x' is a required property" in str(there["3"]["error"])


def test_an_item_may_have_its_own_model_system_files_and_tools(fanout: Inside) -> None:
    with WireServer(calculating()) as server:
        fanout.write("note.txt", "the secret of the note")
        row = {
            "prompt": "p",
            "system": "Be brief.",
            "model": "openai/other",
            "attachments": ["note.txt"],
            "allowed_tools": ["calculator.*"],
        }
        assert batch(fanout, server, items(fanout, row, "q"), "--mcp", "calculator", "--mcp", "files").code == 0
        one, two = sorted((request.body for request in server.requests), key=lambda body: body["model"])
    assert (one["model"], two["model"]) == ("other", "test-model")
    assert "the secret of the note" in json.dumps(one["messages"])
    assert one["messages"][0]["content"].startswith("Be brief.")
    names = [{tool["function"]["name"].partition("_")[0] for tool in body["tools"]} for body in (one, two)]
    assert "files" not in names[0]
    assert "files" in names[1]


def test_models_and_repetitions_multiply_items(fanout: Inside) -> None:
    with WireServer(calculating()) as server:
        each = ("--each", "model=openai/a,openai/b", "--repeat", "2")
        assert batch(fanout, server, items(fanout, {"id": "x", "text": "t"}), *each).code == 0
        assert Counter(one.body["model"] for one in server.requests) == {"a": 2, "b": 2}
    assert set(found(fanout)) == {f"x#model=openai/{model}#{n}" for model in "ab" for n in (1, 2)}


def test_no_more_run_at_once_than_jobs(fanout: Inside) -> None:
    with WireServer(calculating()) as server:
        assert batch(fanout, server, items(fanout, *(f"t{n}" for n in range(12))), "--jobs", "3").code == 0
        assert server.connections <= 3


def test_a_refusal_for_being_too_fast_is_waited_out_by_all(fanout: Inside) -> None:
    refused: list[str] = []

    def odd(prompt: str, request: Request) -> Reply | None:
        if len(refused) < 3:
            refused.append(prompt)
            return Reply.json({"error": {"message": "slow down"}}, 429, {"retry-after-ms": "20"})
        return None

    with WireServer(calculating(odd)) as server:
        assert batch(fanout, server, items(fanout, *(f"t{n}" for n in range(8)))).code == 0
        assert len(server.requests) == 8 + 3
    assert all(one["status"] == "completed" for one in found(fanout).values())


def test_the_first_failure_can_end_it_all_and_the_rest_is_left(fanout: Inside) -> None:
    def odd(prompt: str, request: Request) -> Reply | None:
        return Reply.json({"error": {"message": "no"}}, 400) if prompt == "bad" else None

    with WireServer(calculating(odd)) as server:
        names = items(fanout, "a", "bad", "c", "d")
        done = batch(fanout, server, names, "--fail-fast", "--jobs", "1")
        assert done.code == 1
        assert "Stopped: item “2” failed (--fail-fast)." in done.err
        assert set(found(fanout)) == {"1", "2"}
        assert batch(fanout, server, names).code == 1  # as one of all has failed
    assert set(found(fanout)) == {"1", "2", "3", "4"}


def test_a_limit_of_tokens_is_for_all_runs_together(fanout: Inside) -> None:
    with WireServer(calculating()) as server:  # 15 tokens a request
        names = items(fanout, *(f"t{n}" for n in range(6)))
        done = batch(fanout, server, names, "--max-total-tokens", "30", "--jobs", "1")
        assert (done.code, len(server.requests)) == (1, 2)
        assert "the token limit is reached: 30 of 30" in done.err
        assert batch(fanout, server, names, "--max-total-tokens", "45", "--jobs", "1").code == 1
        assert len(server.requests) == 3


def test_a_wait_of_hours_is_asked_for_once_and_told_to_every_item(fanout: Inside) -> None:
    refusal = Reply.json({"error": {"message": "The usage limit has been reached", "resets_in_seconds": 9568}}, 429)
    with WireServer(lambda _: refusal) as server:
        done = batch(fanout, server, items(fanout, *(f"t{n}" for n in range(40))), "--jobs", "2")
        assert done.code == 1
        assert len(server.requests) <= 2
    errors = [str(result["error"]) for result in found(fanout).values()]
    assert len(errors) == 40
    assert all("Retry in 3 hours, at " in error for error in errors)


def test_a_price_limit_of_a_model_without_a_price_says_so(fanout: Inside) -> None:
    with WireServer(calculating()) as server:
        done = batch(fanout, server, items(fanout, "a"), "--max-price", "1")
    assert done.code == 0
    assert "Note: The price of a model isn't known, so --max-price can't be kept." in done.err


def test_a_call_that_needs_an_approval_is_told_and_its_item_fails(fanout: Inside) -> None:
    fanout.write("home/config.toml", '[rules]\nask = ["calculator.*"]\n')
    with WireServer(calculating()) as server:
        assert batch(fanout, server, items(fanout, "calc: 1+1")).code == 1
    there = found(fanout)["1"]
    assert there["status"] == "approval"
    assert "calculator.evaluate" in str(there["error"])


def test_a_dry_run_checks_and_prices_and_asks_nothing(fanout: Inside) -> None:
    items(fanout, "a", "b")
    key = {"OPENAI_API_KEY": "sk-test"}
    done = fanout.run("batch", "items.jsonl", "--dry-run", "-m", "openai/gpt-4o", "--no-mcp", env=key)
    assert done.code == 0
    assert done.out.startswith("openai/gpt-4o: 2 items, about ")
    assert "about $0." in done.out
    assert not (fanout.cwd / "r.jsonl").exists()


def test_a_dry_run_prices_what_is_left_and_touches_no_file(fanout: Inside) -> None:
    with WireServer(calculating()) as server:
        names = items(fanout, "a", "b", "c", "d", "e")
        assert batch(fanout, server, names, "--limit", "2").code == 0
        asked = len(server.requests)
        took = sum(one["usage"]["input_tokens"] + one["usage"]["output_tokens"] for one in found(fanout).values())
        path = fanout.cwd / "r.jsonl"
        with path.open("a") as file:  # as a run leaves it that is killed, or writes now
            file.write('{"version":')
        before = path.read_bytes()
        done = batch(fanout, server, names, "--dry-run")
        assert done.code == 0
        assert done.out.startswith("openai/test-model: 3 items, about ")
        said = f"2 of 5 items are done ({took:,} tokens: price not known): what is told is of the 3 left."
        assert said in done.err
        assert batch(fanout, server, names, "--dry-run", "--limit", "1").out.startswith("openai/test-model: 1 item,")
        other = items(fanout, "another", name="other.jsonl")
        refused = batch(fanout, server, other, "--dry-run")
        assert (refused.code, refused.out) == (2, "")
        assert "is of another run" in refused.err
        assert path.read_bytes() == before
        assert len(server.requests) == asked
        assert batch(fanout, server, names).code == 0
        done = batch(fanout, server, names, "--dry-run")
    assert (done.code, done.out) == (0, "")
    assert "5 of 5 items are done (" in done.err
    assert "): what is told is of the 0 left." in done.err


def test_a_dry_run_tells_the_price_of_what_is_done_beside_that_of_what_is_left(fanout: Inside) -> None:
    names = items(fanout, "a", "b")
    (item, _) = ItemPlan(folder=fanout.cwd).items([str(fanout.cwd / names)])
    usage = ItemUsage(input_tokens=1000, output_tokens=234, cost=0.0125)
    done = ItemResult.interrupted(item).model_copy(update={"status": "completed", "usage": usage})
    (fanout.cwd / "r.jsonl").write_text(json_line(done.model_dump(mode="json")) + "\n")
    key = {"OPENAI_API_KEY": "sk-test"}
    told = fanout.run("batch", names, "--dry-run", "-o", "r.jsonl", "-m", "openai/gpt-4o", "--no-mcp", env=key)
    assert "1 of 2 items are done (1,234 tokens: $0.0125): what is told is of the 1 left." in told.err
    assert told.out.startswith("openai/gpt-4o: 1 item, about ")
    assert "about $0." in told.out


def test_a_dry_run_leaves_out_what_was_cut_short_and_keeps_its_note(fanout: Inside) -> None:
    names = items(fanout, "a", "b")
    (item, _) = ItemPlan(folder=fanout.cwd).items([str(fanout.cwd / names)])
    (fanout.cwd / "r.jsonl").write_text("")
    notes = ChangeNotes.path_of(fanout.cwd / "r.jsonl")
    notes.write_text(json_line(ItemResult.interrupted(item).model_dump(mode="json")) + "\n")
    words = ("batch", names, "--dry-run", "-o", "r.jsonl", "-m", "offline/rehearsal", "--no-mcp")
    assert fanout.run(*words).out.startswith("offline/rehearsal: 1 item,")
    assert fanout.run(*words, "--rerun-changes").out.startswith("offline/rehearsal: 2 items")
    assert notes.exists()


def test_items_may_come_from_a_pipe(fanout: Inside) -> None:
    with WireServer(calculating()) as server:
        assert batch(fanout, server, "-", stdin=b"one\n\ntwo\n").code == 0
    assert {one["answer"] for one in found(fanout).values()} == {"You said one", "You said two"}


def test_each_conversation_is_kept_where_it_is_asked_for(fanout: Inside) -> None:
    with WireServer(calculating()) as server:
        rows = items(fanout, {"id": "../up", "text": "calc: 1+1"}, {"id": "plain", "text": "b"})
        assert batch(fanout, server, rows, "--events", "kept").code == 0
    kept = sorted(path.name for path in (fanout.cwd / "kept").iterdir())
    assert len(kept) == 2
    assert "plain.jsonl" in kept
    imported = fanout.run("sessions", "import", str(fanout.cwd / "kept" / "plain.jsonl"))
    assert imported.code == 0
    assert "b" in fanout.run("sessions", "list").out


def test_the_report_is_one_page_without_anything_from_elsewhere(fanout: Inside) -> None:
    hostile = "<script>alert(1)</script>\x1b]0;x\x07"
    with WireServer(calculating()) as server:
        done = batch(fanout, server, items(fanout, hostile, "calc: 1/0"), "--report", "report.html")
    assert done.code == 0
    page = (fanout.cwd / "report.html").read_text()
    assert faults(page) == []
    assert "\x1b" not in page
    assert "http:" not in page
    assert "You said &lt;script&gt;" in page
    assert "Division by zero" in page
    (fanout.cwd / "report.html").unlink()
    again = batch(fanout, server, "items.jsonl", "--report", "report.html")
    assert (again.code, again.err) == (0, "Nothing is left to do: all 2 items have a result.\n")
    page = (fanout.cwd / "report.html").read_text()
    assert "2 of 2 done, 2 before" in page
    assert "Division by zero" in page


def test_calls_run_in_bulk_without_a_model(fanout: Inside) -> None:
    rows = [{"tool": "calculator.evaluate", "arguments": {"expression": f"{n}*2"}} for n in range(20)]
    rows.append({"tool": "calculator.evaluate", "arguments": {"expression": "1/0"}})
    items(fanout, *rows, name="calls.jsonl")
    done = fanout.run("call", "--from", "calls.jsonl", "-o", "r.jsonl")
    there = found(fanout)
    assert done.code == 1
    assert [there[str(n)]["answer"] for n in (1, 20)] == ["0", "38"]
    assert (there["21"]["status"], there["21"]["error"]) == ("failed", "Division by zero.")
    assert "Nothing is left to do" in fanout.run("call", "--from", "calls.jsonl", "-o", "r.jsonl").err
    kept = fanout.run("call", "--from", "calls.jsonl", "-o", "kept.jsonl", "--events", "kept")
    assert kept.code == done.code
    assert len(list((fanout.cwd / "kept").glob("*.jsonl"))) == len(results(fanout.cwd / "kept.jsonl"))


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ({"tool": "nobody.t"}, "calls.jsonl:1: no server has a tool nobody.t"),
        ({"tool": "calculator.evalute"}, "calls.jsonl:1: no tool is called calculator.evalute"),
        ({"tool": 1}, "calls.jsonl:1: no field “tool”"),
    ],
)
def test_a_call_that_cannot_be_is_told_with_its_line(fanout: Inside, line: object, says: str) -> None:
    items(fanout, line, name="calls.jsonl")
    done = fanout.run("call", "--from", "calls.jsonl", "-o", "r.jsonl")
    assert done.code == 2
    assert says in done.err


def test_a_run_that_ended_can_be_looked_at(fanout: Inside) -> None:
    with WireServer(calculating()) as server:
        assert batch(fanout, server, items(fanout, "a"), "--name", "mine").code == 0
    assert fanout.run("batch", "status").out.startswith("mine: ended · 1/1 done")
    assert "1 of 1 item done: 1 completed." in fanout.run("batch", "show", "mine").out
    told = json.loads(fanout.run("batch", "status", "mine", "--jsonl").out)
    assert (told["version"], told["state"], told["counts"]) == (1, "ended", {"completed": 1})
    for arguments in (("show", "other"), ("stop", "mine"), ("stop",)):
        assert fanout.run("batch", *arguments).code == 2


def test_a_price_limit_is_for_all_runs_together(fanout: Inside) -> None:
    steps = 'steps = [{ text = "well" }]'
    fanout.write("s.toml", f"[[answer]]\nusage = {{ input = 10, output = 5, cost = 0.4 }}\n{steps}\n")
    names = items(fanout, *(f"t{n}" for n in range(6)))
    run = ("batch", names, "-o", "r.jsonl", "-m", "scripted/s.toml", "--no-mcp", "--jobs", "1", "--max-price")
    done = fanout.run(*run, "1")
    assert done.code == 1
    assert "the price limit is reached: $1.2000 of $1.0000 (--max-price)" in done.err
    assert len(found(fanout)) == 3
    assert fanout.run(*run, "1").code == 1
    assert len(found(fanout)) == 3
    assert fanout.run(*run, "9").code == 0
    assert len(found(fanout)) == 6


def test_results_and_snapshots_are_what_their_schemas_say(fanout: Inside) -> None:
    with WireServer(calculating()) as server:
        assert batch(fanout, server, items(fanout, "calc: 1+1", "calc: 1/0")).code == 0
    for line in (fanout.cwd / "r.jsonl").read_text().splitlines():
        jsonschema.Draft202012Validator(schema("result")).validate(json.loads(line))
    jsonschema.Draft202012Validator(schema("batch")).validate(
        json.loads(fanout.run("batch", "show", "r", "--jsonl").out)
    )
