"""`fanout models`: what endpoints list, and what is said of those that can't be asked."""

from __future__ import annotations

import pytest

from tests.headless.inside import Inside
from tests.wire_server import Reply, WireServer

LIST = Reply.json({"object": "list", "data": [{"id": name, "object": "model"} for name in ("small", "org/big")]})


def test_the_models_of_an_endpoint_are_listed(fanout: Inside, server: WireServer) -> None:
    server.script(LIST)
    done = fanout.run("models", "--base-url", server.base_url("openai-chat"))
    assert done.code == 0
    assert done.out.split() == ["openai/org/big", "openai/small"]


def test_all_that_has_a_key_is_asked_and_the_rest_says_what_it_needs(fanout: Inside, server: WireServer) -> None:
    server.script(LIST)
    own = f'[providers.own]\napi = "openai-chat"\nbase_url = "{server.base_url("openai-chat")}"\n'
    fanout.write("home/config.toml", own)
    done = fanout.run("models", env={"OLLAMA_HOST": "127.0.0.1:9"})
    assert done.code == 0
    assert done.out.split()[0] == "offline/rehearsal"
    assert "own/small" in done.out
    assert "openai needs a key, and OPENAI_API_KEY is not set.\n" in done.err
    assert "ollama: Model" in done.err


@pytest.mark.parametrize(("name", "code"), [("nobody", 2), ("openai", 1)])
def test_a_provider_that_can_not_be_asked_is_told(fanout: Inside, name: str, code: int) -> None:
    done = fanout.run("models", "-m", name)
    assert (done.code, done.out) == (code, "")
    assert done.err.count("\n") == 1
