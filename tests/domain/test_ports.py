"""A provider that wraps another one knows all that this one knows."""

from __future__ import annotations

from console_app.domain import ports

PASSED_ON = (
    *("endpoint", "stand_in", "effort_for", "no_pictures", "searches_tools", "runs_programs"),
    *("turn_began", "dialect", "licence", "choose", "license"),
)


class Inner(ports.Forwarding):
    """A provider that has an answer of its own to everything."""

    name, model, protocol, endpoint, dialect = "name", "model", "protocol", "endpoint", "dialect"
    stand_in, licence, searches_tools, no_pictures = ports.StandIn(7), ports.Licence("form", "said"), True, "why"
    runs_programs = True

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


async def test_what_wraps_a_provider_passes_on_all_that_it_knows() -> None:
    inner = Inner()
    outer = ports.Forwarding(inner)  # pyright: ignore[reportArgumentType]
    assert ports.speaks(outer, ports.KnowsTurns)
    assert ports.speaks(outer, ports.ReadsText)
    for name in PASSED_ON:
        assert getattr(outer, name) == getattr(inner, name) or callable(getattr(outer, name)), name
    assert outer.effort_for("high") == "effort high"
    outer.choose("text")
    outer.license("hermes_json")
    outer.turn_began()
    await outer.close()
    assert inner.asked == ["text", "hermes_json", "turn", "closed"]
