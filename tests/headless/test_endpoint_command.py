"""`fanout endpoint test` says what an endpoint does on its wire, keeps it, and fails where something breaks."""

from __future__ import annotations

import json
from typing import Any
from xml.etree import ElementTree

import pytest

from console_app.command_line.json_outputs import schema
from tests.headless.inside import Inside
from tests.program.process import Done
from tests.providers.live_endpoint import LiveEndpoint
from tests.wire_bytes import APIS, Api
from tests.wire_server import Reply, WireServer

PROVIDERS: dict[Api, str] = {
    "openai-chat": "openai",
    "openai-responses": "openai-responses",
    "anthropic": "anthropic",
}
KEY = "sk-test-0123456789abcdefghij"


def played(fanout: Inside, server: WireServer, api: Api, *arguments: str) -> Done:
    model = f"{PROVIDERS[api]}/test-model"
    return fanout.run("endpoint", "test", server.base_url(api), "-m", model, "--yes", *arguments)


def findings(fanout: Inside, api: Api, *habits: str) -> dict[str, Any]:
    """Return the findings by name; under "ok" stands whether all works."""
    with WireServer(LiveEndpoint(*habits)) as server:
        done = played(fanout, server, api, "--json")
    told = json.loads(done.out)
    assert done.code == (0 if told["ok"] else 1)
    return {one["name"]: (one["seen"], one["breaks"]) for one in told["findings"]} | {"ok": told["ok"]}


@pytest.mark.parametrize("api", APIS)
def test_an_endpoint_without_habits_passes_and_its_fingerprint_is_kept(fanout: Inside, api: Api) -> None:
    with WireServer(LiveEndpoint()) as server:
        done = played(fanout, server, api, "--junit", "report.xml")
        assert done.code == 0, done.err
        assert len(server.requests) == 8
    assert "✗" not in done.out
    assert done.err.startswith("This sends 8 requests, more where a field is refused, of about 4,000 tokens together")
    for words in ("4 of 4 in one answer", "10 in, 5 out", "x-ratelimit-limit-requests 600", "said: length", "Red."):
        assert words in done.out
    suite = ElementTree.fromstring((fanout.cwd / "report.xml").read_text())
    assert (suite.attrib["name"], suite.attrib["failures"]) == ("fanout endpoint", "0")
    (kept,) = fanout.home.rglob("endpoints.json")
    (name,) = json.loads(kept.read_text())
    assert name.startswith(f"{api} 127.0.0.1:")
    assert kept.stat().st_mode & 0o077 == 0


# A habit, the finding that shows it, and words of it; "" for what breaks where nothing does.
HABITS: list[tuple[Api, str, str, str, str]] = [
    ("openai-chat", "all under index 0", "labels of four calls", "all calls under one index", ""),
    ("openai-chat", "no labels later", "labels of one call", "later: none", "?"),
    ("openai-chat", "refuses stream options", "refused", "stream_options", ""),
    ("openai-chat", "refuses results", "given back", "no results here", "a turn ends at its first call"),
    ("openai-chat", "hides a cut", "cut by its limit", "hidden behind: stop", "may lack a part"),
    ("anthropic", "no closing blocks", "ends", "calls without content_block_stop", "?"),
    *(
        (api, habit, name, seen, breaks)
        for api in APIS
        for habit, name, seen, breaks in (
            ("refuses pictures", "pictures", "refused: its model sees none", ""),
            ("refuses unknown fields", "unknown field", "Unknown parameter", ""),
            ("refuses what it does not say", "unknown field", "Bad request", "can't be told from its words"),
            ("counts nothing", "usage", "none", "can't be counted"),
            ("one call an answer", "four calls", "1 of 4", "nothing runs in parallel"),
            ("never calls", "one call", "I would rather not.", "try /protocol text"),
        )
    ),
]


@pytest.mark.parametrize(("api", "habit", "name", "seen", "breaks"), HABITS, ids=lambda value: str(value)[:30])
def test_each_habit_is_seen(fanout: Inside, api: Api, habit: str, name: str, seen: str, breaks: str) -> None:
    found = findings(fanout, api, habit)
    assert seen in found[name][0]
    if breaks != "?":
        assert breaks in found[name][1]
        assert found["ok"] is (not breaks)


def test_what_is_refused_is_known_from_the_first_request_on(fanout: Inside) -> None:
    with WireServer(LiveEndpoint("refuses stream options")) as server:
        assert played(fanout, server, "openai-chat").code == 0
        before = len(server.requests)
        done = fanout.run("run", "Say yes", "-m", "openai/test-model", "--base-url", server.base_url("openai-chat"))
        assert done.code == 0
        assert len(server.requests) == before + 1
        assert "stream_options" not in server.requests[-1].body


def test_the_next_test_says_what_has_changed(fanout: Inside) -> None:
    live = [LiveEndpoint()]
    with WireServer(lambda request: live[-1](request)) as server:
        assert "was:" not in played(fanout, server, "openai-chat").out
        assert "was:" not in played(fanout, server, "openai-chat").out
        live.append(LiveEndpoint("all under index 0"))
        done = played(fanout, server, "openai-chat")
    assert "was: first: index and id; later: index\n" in done.out


@pytest.mark.parametrize("broken", ["[]", "{", '{"openai-chat": 3}'])
def test_a_broken_file_of_fingerprints_is_begun_anew(fanout: Inside, broken: str) -> None:
    fanout.write("home/state/endpoints.json", broken)
    with WireServer(LiveEndpoint()) as server:
        assert played(fanout, server, "openai-chat").code == 0


def test_nothing_is_sent_where_nobody_can_be_asked(fanout: Inside) -> None:
    with WireServer(LiveEndpoint()) as server:
        done = fanout.run("endpoint", "test", server.base_url("openai-chat"), "-m", "openai/test-model")
        assert not server.requests
    assert done.code == 2
    assert "8 requests" in done.err
    assert "fanout endpoint test --yes" in done.err


def test_a_key_stands_nowhere_in_what_is_kept_and_told(fanout: Inside) -> None:
    refusal = Reply.json({"error": {"message": f"no such plan for {KEY}"}}, 403)
    live = LiveEndpoint()
    with WireServer(lambda request: refusal if "1 to 120" in str(request.body) else live(request)) as server:
        variables = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": server.base_url("openai-chat")}
        done = fanout.run("endpoint", "test", "-m", "openai/test-model", "--yes", env=variables)
        assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert done.code == 1
    assert "no such plan" in done.out
    (kept,) = fanout.home.rglob("endpoints.json")
    assert KEY not in done.out + done.err + kept.read_text()


def test_an_endpoint_that_refuses_all_is_one_line(fanout: Inside) -> None:
    with WireServer(lambda _: Reply.json({"error": {"message": "bad key"}}, 401)) as server:
        done = played(fanout, server, "openai-chat")
    assert (done.code, done.out) == (1, "")
    assert "bad key" in done.err.splitlines()[-1]


def test_the_report_fits_its_schema(fanout: Inside) -> None:
    import jsonschema

    with WireServer(LiveEndpoint()) as server:
        done = played(fanout, server, "openai-chat", "--json")
    jsonschema.validate(json.loads(done.out), schema("endpoint"))
