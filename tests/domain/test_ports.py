"""A provider that wraps another one knows all that this one knows."""

from __future__ import annotations

import pytest

from console_app.domain import ports

PASSED_ON = [
    ports.HasEndpoint,
    ports.HasStandIn,
    ports.KnowsEffort,
    ports.KnowsPictures,
    ports.KnowsTurns,
    ports.ReadsText,
    ports.SearchesTools,
]


class Inner(ports.Forwarding):
    """A provider that has an answer of its own to everything."""

    name, model, protocol, endpoint, dialect = "name", "model", "protocol", "endpoint", "dialect"
    stand_in, licence, searches_tools, no_pictures = ports.StandIn(7), ports.Licence("form", "said"), True, "why"

    def __init__(self) -> None:
        self.asked = list[object]()

    def effort_for(self, asked: object) -> str:
        return f"effort {asked}"

    def choose(self, mode: object) -> None:
        self.asked.append(mode)

    def license(self, form: str) -> None:
        self.asked.append(form)

    def turn_began(self) -> None:
        self.asked.append("turn")

    async def close(self) -> None:
        self.asked.append("closed")


@pytest.mark.parametrize("port", PASSED_ON, ids=lambda port: port.__name__)
async def test_what_wraps_a_provider_passes_on_all_that_it_knows(port: type) -> None:
    inner = Inner()
    outer = ports.Forwarding(inner)  # pyright: ignore[reportArgumentType]
    assert ports.speaks(outer, port)
    for name in [name for name in vars(port) if not name.startswith("_")]:
        assert getattr(outer, name) == getattr(inner, name) or callable(getattr(outer, name)), name
    assert outer.effort_for("high") == "effort high"
    outer.choose("text")
    outer.license("hermes_json")
    outer.turn_began()
    await outer.close()
    assert inner.asked == ["text", "hermes_json", "turn", "closed"]
