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


@pytest.mark.parametrize(("default", "code"), [("one/small", 0), ("gone/small", 1)])
def test_with_a_default_all_providers_are_listed_still(
    fanout: Inside, server: WireServer, default: str, code: int
) -> None:
    with WireServer(lambda _: LIST) as other:
        urls = {"one": server.base_url("openai-chat"), "two": other.base_url("openai-chat")}
        urls["gone"] = "http://127.0.0.1:1/v1"
        server.script(LIST)
        tables = [f'[providers.{name}]\napi = "openai-chat"\nbase_url = "{url}"\n' for name, url in urls.items()]
        fanout.write("home/config.toml", f'model = "{default}"\n' + "".join(tables))
        done = fanout.run("models", env={"OLLAMA_HOST": "127.0.0.1:9"})
    assert {"one/small", "two/small", "offline/rehearsal"} <= set(done.out.split())
    assert "gone: Model: gone at http://127.0.0.1:1/v1: the connection was refused." in done.err
    assert done.code == code
