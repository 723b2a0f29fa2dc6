"""A request carries more than words: the pictures that calls gave, and how much the model is to think; and it says
what is wrong with a result."""

from __future__ import annotations

from collections.abc import Sequence

from console_app.domain import events as ev
from console_app.domain.messages import ToolMessage
from console_app.domain.ports import CallReporter, Invocation
from console_app.domain.tools import Artifact, Outcome, ToolResult, ToolSpec
from tests.each import each
from tests.engine.peers import Model, calls, engine_of, play, spec


class Camera:
    """A toolset that gives pictures, and a drawing that no API takes."""

    def tools(self) -> Sequence[ToolSpec]:
        return [spec()]

    async def call(self, invocation: Invocation, reporter: CallReporter) -> ToolResult:
        files = (Artifact(name="a.png", mime="image/png", path="/a.png"), Artifact(name="b", mime="image/svg+xml"))
        return ToolResult(outcome=Outcome.SUCCEEDED, content="[image saved]", artifacts=files)


class Blind(Model):
    """Its endpoint refused a picture."""

    no_pictures = "its endpoint refused one"


async def test_pictures_of_a_call_go_with_its_result_and_are_stored_with_it() -> None:
    model = Model(calls({}))
    engine = engine_of(model, Camera())  # pyright: ignore[reportArgumentType]
    events = await play(engine)
    (message,) = [one for one in model.requests[1].messages if isinstance(one, ToolMessage)]
    assert message.images == ("/a.png",)
    assert message.content == "[image saved]\n[Fanout: the picture goes to models that see]"
    stored = [event for event in events if isinstance(event, ev.MessageAdded) and event.role == "tool"]
    assert [ev.MessageAdded.model_validate_json(one.model_dump_json()).message for one in stored] == [message]


async def test_it_is_said_that_a_model_is_not_shown_them() -> None:
    model = Blind(calls({}))
    engine = engine_of(model, Camera())  # pyright: ignore[reportArgumentType]
    await play(engine)
    (message,) = [one for one in engine.history if isinstance(one, ToolMessage)]
    assert message.content.endswith("[Fanout: the picture is not shown to the model: its endpoint refused one]")


async def test_every_request_carries_the_effort() -> None:
    model = Model(calls({}))
    await play(engine_of(model, effort="high"))
    assert [request.sampling.effort for request in model.requests] == ["high", "high"]


class Promising:
    """A toolset whose tool gives nothing, or a text, and has promised more."""

    def __init__(self, content: str) -> None:
        self.content = content

    def tools(self) -> Sequence[ToolSpec]:
        return [spec()]

    async def call(self, invocation: Invocation, reporter: CallReporter) -> ToolResult:
        return ToolResult(outcome=Outcome.SUCCEEDED, content=self.content, remark="it promised more")


@each(("content", "read"), [("", "[Fanout: it promised more]"), ("sent", "sent\n[Fanout: it promised more]")])
async def test_a_model_is_told_what_is_wrong_with_a_result(content: str, read: str) -> None:
    model = Model(calls({}))
    await play(engine_of(model, Promising(content)))  # pyright: ignore[reportArgumentType]
    assert [one.content for one in model.requests[1].messages if isinstance(one, ToolMessage)] == [read]
