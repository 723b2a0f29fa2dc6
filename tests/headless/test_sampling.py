"""Every setting of a request, wherever it is written, reaches the request: one that was forgotten on the way fails."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from console_app.domain.settings import Sampling
from console_app.providers.formats.request_parts import PARAMETERS
from tests.headless.inside import Inside
from tests.providers.reading import ASK, provider_at, read
from tests.wire_bytes import APIS, Answer, Api, Text
from tests.wire_server import WireServer

FIELDS = list(Sampling.model_fields)
VALUES: tuple[Any, ...] = (0.5, 7, "refuse", "high", {"extra": 1}, "on", "off")


def values_for(field: str) -> list[Any]:
    """Return those of some values that the field takes."""
    taken: list[Any] = []
    for value in VALUES:
        with suppress(ValidationError):
            Sampling.model_validate({field: value})
            taken.append(value)
    assert taken, f"add a value that {field} takes to VALUES"
    return taken


async def body_of(server: WireServer, api: Api, request: Sampling, **provider: Any) -> Any:
    server.script(Answer(Text("Hi.")))
    asked = provider_at(server, api, **provider)
    await read(asked, replace(ASK, system="Be brief.", sampling=request, conversation="01J"))
    await asked.close()
    return server.requests[-1].body


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("field", FIELDS)
async def test_each_is_in_the_body_on_every_wire_that_has_a_parameter_for_it(
    server: WireServer, field: str, api: Api
) -> None:
    without = await body_of(server, api, Sampling())
    changed = False
    for value in values_for(field):
        at_the_provider = await body_of(server, api, Sampling(), **{field: value})
        in_the_request = await body_of(server, api, Sampling.model_validate({field: value}))
        assert at_the_provider == in_the_request
        changed = changed or at_the_provider != without
    assert changed != (field in PARAMETERS and PARAMETERS[field][api] is None)


@pytest.mark.parametrize("place", ["", "providers.lab", 'providers.lab.models."big"'])
def test_each_is_taken_from_the_top_of_the_file_a_providers_table_and_a_models(
    fanout: Inside, server: WireServer, place: str
) -> None:
    lab = f'[providers.lab]\napi = "openai-chat"\nbase_url = "{server.url}/v1"\n'

    def body_with(settings: str) -> Any:
        server.script(Answer(Text("Hi.")))
        fanout.write("home/config.toml", settings)
        assert fanout.run("run", "--mcp", "calculator", "-m", "lab/big", "go").code == 0
        return server.requests[-1].body

    def tables(field: str) -> str:
        value = values_for(field)[0]
        said = f"{field} = {json.dumps(value) if not isinstance(value, dict) else '{ extra = 1 }'}\n"
        return {"": said + lab, "providers.lab": lab + said}.get(place, f"{lab}[{place}]\n{said}")

    without = body_with(lab)
    assert without == body_with(lab)
    assert [field for field in FIELDS if body_with(tables(field)) == without] == []


@pytest.mark.parametrize(
    ("name", "value"), [("MAX_TOKENS", "7"), ("TEMPERATURE", "0.5"), ("STOP", "END"), ("EFFORT", "high")]
)
def test_the_environment_says_them_too(fanout: Inside, server: WireServer, name: str, value: str) -> None:
    server.script(Answer(Text("Hi.")))
    url = server.base_url("openai-chat")
    env = {f"FANOUT_{name}": value}
    assert fanout.run("run", "--no-mcp", "-m", "openai/m", "--base-url", url, "go", env=env).code == 0
    parameter = PARAMETERS[name.lower()]["openai-chat"]
    assert str(server.requests[0].body[parameter]) in (value, f"['{value}']")


def test_what_stands_nearer_wins_and_stops_and_extra_fields_add_up() -> None:
    above = Sampling(temperature=0.0, stop=("A",), extra_body={"a": 1, "b": 1})
    below = Sampling(temperature=1.0, max_tokens=5, stop=("B", "A"), extra_body={"b": 2, "c": 2})
    assert Sampling.merged(above, below) == Sampling(
        temperature=0.0, max_tokens=5, stop=("A", "B"), extra_body={"a": 1, "b": 1, "c": 2}
    )
