"""A provider that wraps another one knows all that this one knows."""

from __future__ import annotations

from console_app.domain import ports

FACTS = (
    *("name", "model", "protocol", "endpoint", "has_protocols", "stand_in", "no_pictures"),
    *("searches_tools", "runs_programs", "dialect", "licence"),
)


class Inner(ports.Provider):
    """A provider that has an answer of its own to everything."""

    name, model, protocol, endpoint, dialect = "name", "model", "protocol", "endpoint", "dialect"
    stand_in, licence, no_pictures = ports.StandIn(7), ports.Licence("form", "said"), "why"
    has_protocols = searches_tools = runs_programs = True

    def __init__(self) -> None:
        self.asked = list[object]()

    def effort_for(self, asked: object) -> str:
        return f"effort {asked}"

    def choose_protocol(self, mode: object) -> None:
        self.asked.append(mode)

    def license(self, form: str) -> None:
        self.asked.append(form)

    def turn_began(self) -> None:
        self.asked.append("turn")

    def forget_refusals(self) -> None:
        self.asked.append("forgotten")

    async def shown_form(self) -> str | None:
        return "shown form"

    async def close(self) -> None:
        self.asked.append("closed")


async def test_what_wraps_a_provider_passes_on_all_that_it_knows() -> None:
    inner = Inner()
    outer = ports.Forwarding(inner)
    for name in FACTS:
        assert getattr(outer, name) == getattr(inner, name) != getattr(ports.Provider(), name, ""), name
    assert outer.effort_for("high") == "effort high"
    assert await outer.shown_form() == "shown form"
    outer.choose_protocol("text")
    outer.license("hermes_json")
    outer.turn_began()
    outer.forget_refusals()
    await outer.close()
    assert inner.asked == ["text", "hermes_json", "turn", "forgotten", "closed"]


async def test_of_a_provider_that_says_nothing_nothing_is_known() -> None:
    silent = ports.Provider()
    assert [getattr(silent, name) for name in FACTS if hasattr(silent, name)] == [
        *("", False, None, ""),
        *(False, False, None, None),
    ]
    assert (silent.effort_for("high"), await silent.shown_form()) == ("", None)
