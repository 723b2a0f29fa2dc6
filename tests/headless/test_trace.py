"""`--trace`: turns, requests and calls as OpenTelemetry spans, in a file or at a collector."""

from __future__ import annotations

import json
import stat
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.headless.inside import Inside
from tests.served import served

PROMPT = "Calculate 2+2, 3*3 and sqrt(2)"
CONTENTS = ("gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.tool.call.arguments", "gen_ai.tool.call.result")


def spans_of(text: str) -> list[dict[str, Any]]:
    scopes = [scope for line in text.splitlines() for scope in json.loads(line)["resourceSpans"][0]["scopeSpans"]]
    assert {scope["schemaUrl"].split("/")[-2] for scope in scopes} == {"gen-ai-dev"}
    return [span for scope in scopes for span in scope["spans"]]


def about(span: dict[str, Any]) -> dict[str, Any]:
    return {one["key"]: next(iter(one["value"].values())) for one in span["attributes"]}


@pytest.mark.parametrize("contents", [False, True])
def test_a_turn_is_a_tree_of_its_requests_and_calls(fanout: Inside, contents: bool) -> None:
    done = fanout.run("run", PROMPT, "--trace", "t.jsonl", *(["--trace-contents"] if contents else []))
    assert done.code == 0, done.err
    path = fanout.cwd / "t.jsonl"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    spans = spans_of(path.read_text())
    (turn,) = [span for span in spans if span["name"] == "invoke_agent fanout"]
    below = [span for span in spans if span is not turn]
    assert [span["name"].split()[0] for span in below] == ["execute_tool"] * 3 + ["chat"] * 2
    assert {span["parentSpanId"] for span in below} == {turn["spanId"]}
    assert {span["traceId"] for span in spans} == {turn["traceId"]}
    for span in below:
        assert turn["startTimeUnixNano"] <= span["startTimeUnixNano"] <= span["endTimeUnixNano"]
        assert span["endTimeUnixNano"] <= turn["endTimeUnixNano"]
    assert about(below[0])["gen_ai.tool.name"] == "evaluate"
    assert [event["name"] for event in below[0]["events"]] == ["approval.resolved", "call.started"]
    assert int(about(below[3])["gen_ai.usage.input_tokens"]) > 0
    assert about(turn)["fanout.outcome"] == "completed"
    said = {name for span in spans for name in about(span) if name in CONTENTS}
    assert said == (set(CONTENTS) if contents else set())


AGENT = """
[[answer]]
steps = [{ call = "fanout_agent", arguments = '{"task": "add", "name": "scout"}' }]
[[answer]]
steps = [{ call = "calculator.evaluate", arguments = '{"expression": "1+1"}' }]
[[answer]]
steps = [{ text = "two" }]
[[answer]]
steps = [{ text = "done" }]
"""


def test_an_agents_turn_lies_below_the_call_that_sent_it_and_its_calls_below_that_turn(fanout: Inside) -> None:
    script = fanout.write("script.toml", AGENT)
    assert fanout.run("run", "-m", f"scripted/{script}", "go", "--trace", "t.jsonl").code == 0
    spans = spans_of((fanout.cwd / "t.jsonl").read_text())
    names = {span["spanId"]: span["name"] for span in spans}
    assert sorted((span["name"], names.get(span.get("parentSpanId", ""))) for span in spans) == [
        ("chat script", "invoke_agent fanout"),
        ("chat script", "invoke_agent fanout"),
        ("chat script", "invoke_agent scout"),
        ("chat script", "invoke_agent scout"),
        ("execute_tool agent", "invoke_agent fanout"),
        ("execute_tool evaluate", "invoke_agent scout"),
        ("invoke_agent fanout", None),
        ("invoke_agent scout", "execute_tool agent"),
    ]


def test_a_call_that_failed_says_so(fanout: Inside) -> None:
    assert fanout.run("call", "demo.fail", '{"message": "no"}', "--trace", "t.jsonl").code == 1
    (call,) = [one for one in spans_of((fanout.cwd / "t.jsonl").read_text()) if one["name"] == "execute_tool fail"]
    assert (about(call)["error.type"], call["status"]["code"]) == ("failed", 2)


def test_a_secret_stays_out_of_it(fanout: Inside) -> None:
    secret = {"OPENAI_API_KEY": "sk-verysecretkey0123456789"}
    done = fanout.run(
        *("call", "calculator.evaluate", '{"expression": "sk-verysecretkey0123456789"}'),
        *("--trace", "t.jsonl", "--trace-contents"),
        env=secret,
    )
    text = (fanout.cwd / "t.jsonl").read_text()
    assert done.code in (0, 1)
    assert "gen_ai.tool.call.arguments" in text
    assert "verysecret" not in text


def test_a_collector_gets_them_before_the_program_ends(fanout: Inside) -> None:
    got: list[tuple[str, bytes]] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with served(HTTPServer(("127.0.0.1", 0), Collector)) as url:
        assert fanout.run("call", "calculator.evaluate", '{"expression": "1+1"}', "--trace", url).code == 0
    assert [path for path, _ in got] == ["/v1/traces"]
    request = ExportTraceServiceRequest.FromString(got[0][1])
    names = [span.name for one in request.resource_spans for scope in one.scope_spans for span in scope.spans]
    assert names == ["execute_tool evaluate", "invoke_agent fanout"]


def test_a_file_that_cant_be_written_is_said_before_anything_runs(fanout: Inside) -> None:
    done = fanout.run("run", PROMPT, "--trace", "no/such/folder.jsonl")
    assert (done.code, done.out) == (2, "")
    assert "--trace" in done.err
    assert "No such file or directory" in done.err
