"""Whatever you do, in any order and at any moment: no prompt is lost or sent twice, one thing runs at a time, and what
was shown adds up to what the engine knows."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from console_app import page
from console_app.console.calls import Calls
from console_app.console.permissions import ApprovalDecision, Permissions
from console_app.console.talk.conversation import Conversation
from console_app.console.talk.sessions import Sessions
from console_app.domain.chunks import FinishChunk, TextChunk
from console_app.domain.errors import UsageError
from console_app.domain.events import Decision
from console_app.domain.messages import UserMessage
from console_app.domain.transcript import Transcript
from tests.console.peers import Memory, Screen
from tests.engine.peers import Line, Model, Tools, calls, engine_of
from tests.engine.virtual_time import run

ACTIONS = (
    "send",
    "steer",
    "stop",
    "call_off",
    "take_back",
    "resume",
    "rerun",
    "compact",
    "undo",
    "again",
    "cancel",
    "decide",
)
STEPS = st.lists(st.tuples(st.sampled_from(ACTIONS), st.sampled_from([0, 0, 1, 2, 5, 20, -1])), max_size=25)
ANSWERS: list[list[Line]] = [
    [TextChunk("so"), FinishChunk("stop")],
    [*calls({"seconds": 1, "n": 1}, {"do": "fail"})],
    [*calls({"do": "chatty"})],
    [TextChunk("cut off")],
]


class User:
    """A person who does all that, and counts their prompts."""

    def __init__(self, answers: list[list[Line]]) -> None:
        self.screen, self.store = Screen(), Memory()
        self.conversation = Conversation(
            engine_of(Model(*answers, paced=True), Tools()), self.store, self.screen, ready=self._ready
        )
        self.sessions = Sessions(self.conversation, None, self.screen, None, page.of_conversation)  # type: ignore[arg-type]
        self.permissions = Permissions(self.conversation.engine, lambda: self.conversation.calls_of, None, self.screen)
        self.calls = Calls(self.conversation, self.screen)
        self.sent: Counter[str] = Counter()
        self.back: Counter[str] = Counter()
        self.steering: list[asyncio.Task[None]] = []
        self.undoing: list[asyncio.Task[None]] = []

    async def _ready(self) -> None:
        await asyncio.sleep(0.5)

    def _name(self) -> str:
        name = f"prompt {self.sent.total()}"
        self.sent[name] += 1
        return name

    def do(self, action: str) -> None:
        conversation = self.conversation
        call_id = next(iter(conversation.engine.transcript.calls), "none")
        match action:
            case "send":
                conversation.send(self._name())
            case "steer":
                self.steering.append(asyncio.create_task(conversation.steer(self._name())))
            case "stop":
                conversation.stop()
            case "call_off" | "take_back":
                text = conversation.call_off() if action == "call_off" else conversation.take_back()
                self.back.update([text] if text is not None else [])
            case "resume":
                conversation.resume()
            case "rerun":
                self.calls.run_again(call_id)
            case "cancel":
                self.calls.cancel(call_id)
            case "again":
                self.calls.run_again(call_id, {"n": 9})
            case "decide":
                waiting = tuple(self.conversation.engine.transcript.open_calls)
                self.permissions.decide(ApprovalDecision(waiting, Decision.ALLOW))
            case "compact":
                try:
                    conversation.compact()
                except UsageError:
                    pass
            case _:
                self.undoing.append(asyncio.create_task(self.sessions.undo()))

    async def at_rest(self) -> None:
        """Answers whatever waits and lets the queue go on, until nothing runs any more."""
        while self.conversation.busy or self.conversation.resume():
            self.do("decide")
            await asyncio.sleep(1)

    def check(self) -> None:
        """Nothing runs any more."""
        engine, screen = self.conversation.engine, self.screen
        shown, stored = Transcript.of(screen.events), Transcript.of(self.store.events)
        assert shown.history == engine.history == stored.history
        assert not shown.open_calls
        assert screen.told == []
        assert engine.activity is None
        began = Counter(screen.prompts)
        joined = Counter(
            message.content
            for event in screen.events
            if event.type == "message.added"
            and isinstance(message := event.message, UserMessage)
            and message.origin == "user"
        )
        assert joined >= began
        assert joined + self.back == self.sent


@given(st.lists(st.sampled_from(ANSWERS), max_size=12), STEPS)
def test_no_prompt_is_lost(answers: list[list[Line]], steps: list[tuple[str, int]]) -> None:
    async def scene() -> None:
        faults: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: faults.append(context))
        user = User(answers)
        for action, pause in steps:
            user.do(action)
            if pause < 0:
                await asyncio.sleep(1.25)
            for _ in range(pause):
                await asyncio.sleep(0)
        await asyncio.gather(*user.steering, *user.undoing)
        await user.at_rest()
        user.check()
        await user.conversation.close()
        assert faults == []

    run(scene)
