"""A fallback from the configuration to the answer: named a model or for all, told once, refused where it goes round."""

from __future__ import annotations

import json

import pytest

from console_app.config.files import Paths
from console_app.config.secrets import StoredKeys
from tests.headless.inside import Inside
from tests.wire_bytes import Answer, Call, Text
from tests.wire_server import Reply, WireServer

AWAY = Reply.json({"error": {"message": "slow down"}}, 429, {"Retry-After": "600"})
TABLES = (
    '[providers.a]\napi = "openai-chat"\nbase_url = "{url}"\n[providers.b]\napi = "openai-chat"\nbase_url = "{url}"\n'
)


@pytest.mark.parametrize("place", ["top", "model", "variable"])
def test_the_fallback_answers_for_the_whole_turn(fanout: Inside, place: str) -> None:
    with WireServer() as server:
        server.script(AWAY, Answer(Call("calculator_evaluate", '{"expression": "1+1"}')), Answer(Text("It is 2.")))
        said = 'fallback = "b/small"\n'
        tables = TABLES.format(url=server.base_url("openai-chat"))
        model = f'[providers.a.models."big"]\n{said}' if place == "model" else ""
        fanout.write("home/config.toml", (said if place == "top" else "") + tables + model)
        env = {"FANOUT_FALLBACK": "b/small"} if place == "variable" else {}
        done = fanout.run("run", "-m", "a/big", "--mcp", "calculator", "--output-format", "stream-json", "go", env=env)
    assert done.code == 0, done.err
    events = [json.loads(line) for line in done.out.splitlines()]
    assert [one.body["model"] for one in server.requests] == ["big", "small", "small"]
    told = [event["text"] for event in events if event["type"] == "notice" and "answers in its place" in event["text"]]
    assert len(told) == 1
    calls = [call for event in events for call in event.get("tool_calls") or ()]
    assert [call["model"] for call in calls] == ["b/small"]


@pytest.mark.parametrize("command", [("run", "go"), ("config", "validate")])
def test_a_chain_that_goes_round_is_refused(fanout: Inside, command: tuple[str, ...]) -> None:
    own = '[providers.a.models.x]\nfallback = "b/y"\n[providers.b.models.y]\nfallback = "a/x"\n'
    fanout.write("home/config.toml", TABLES.format(url="http://127.0.0.1:9/v1") + own)
    done = fanout.run(*command)
    assert done.code == 2
    assert "the fallbacks go round in a circle: a/x -> b/y -> a/x" in done.err
    assert "Traceback" not in done.err


def test_one_for_all_models_ends_every_chain(fanout: Inside) -> None:
    own = '[providers.a.models.x]\nfallback = "b/y"\n'
    text = 'fallback = "b/z"\n' + TABLES.format(url="http://127.0.0.1:9/v1") + own
    fanout.write("home/config.toml", text)
    assert fanout.run("config", "show").code == 0


def test_a_fallback_is_a_provider_and_a_model(fanout: Inside) -> None:
    fanout.write("home/config.toml", 'fallback = "small"\n')
    done = fanout.run("config", "validate")
    assert done.code == 2
    assert "fallback" in done.err


def test_the_flag_says_how_much_to_think(fanout: Inside, server: WireServer) -> None:
    server.script(Answer(Text("Hi.")))
    url = server.base_url("openai-chat")
    done = fanout.run("run", "--no-mcp", "-m", "openai/m", "--base-url", url, "--effort", "low", "go")
    assert done.code == 0, done.err
    assert server.requests[0].body["reasoning_effort"] == "low"
    assert fanout.run("run", "--effort", "some", "go").code == 2


@pytest.mark.parametrize("kept", ["stored", "header"])
def test_a_key_that_is_not_taken_is_named_where_it_stands(fanout: Inside, server: WireServer, kept: str) -> None:
    server.script(Reply.json({"error": {"message": "no"}}, 401))
    url = server.base_url("openai-chat")
    table = f'[providers.lab]\napi = "openai-chat"\nbase_url = "{url}"\n'
    if kept == "stored":
        fanout.write("home/config.toml", f'{table}api_key_env = "LAB_KEY"\n')
        StoredKeys(Paths.find({"FANOUT_HOME": str(fanout.home)})).set("LAB_KEY", "sk-lab-000000")
    else:
        fanout.write("home/config.toml", f'{table}headers = {{ Authorization = "Bearer sk-lab-000000" }}\n')
    done = fanout.run("run", "--no-mcp", "-m", "lab/m", "go")
    assert done.code == 1
    says = {"stored": "`fanout auth set lab` keeps another", "header": "headers of [providers.lab] in config.toml"}
    assert says[kept] in done.err
    assert "sk-lab-000000" not in done.err
