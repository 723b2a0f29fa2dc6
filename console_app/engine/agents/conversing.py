"""A turn with an agent of others in the place of the model: it is given the prompt, and the rest is its own work."""

from __future__ import annotations

from collections.abc import Sequence

from console_app.domain import FanoutError, Message, ports
from console_app.domain import agents as ag
from console_app.domain import events as ev
from console_app.engine.agents.child import Relay
from console_app.engine.agents.host import Host
from console_app.engine.step import Ask, Step
from console_app.engine.strategies import Ending
from console_app.engine.turn import Turn

MOST_EARLIER = 60_000  # characters of what was said before, the newest
EARLIER = "[Fanout: this was said before you were asked; answer what stands below it.]"


class ConversingTurn(Turn):
    """The history has its prompts and the agent's words; its calls are told, and join no history. A call of ours that
    the agent has made runs as any other."""

    def _begin(self) -> None:
        self._known = len(self._session.transcript.history)  # messages that were there before
        super()._begin()

    async def _follow(self) -> Ending:
        if (blocked := await self._hooked_start()) is not None:
            return blocked
        earlier = _in_words(self._session.transcript.history[: self._known])
        while True:
            self._join_what_the_user_did()
            self._step_number += 1
            self.emit(ev.StepStarted())
            said = [one.whole for one in self._session.transcript.history[self._known :] if one.role == "user"]
            if (ending := await self._asked("\n\n".join(said), earlier)) is not None:
                return ending
            if limit := self.spent():
                return Ending("failed", limit)
            if not self._steering:
                return Ending("completed")
            self._known, earlier = len(self._session.transcript.history), ""

    async def _asked(self, prompt: str, earlier: str) -> Ending | None:
        session, agent = self._session, self._session.provider
        assert ports.speaks(agent, ag.Converses)
        self._step = Step(session, self, self.provider_calls, self._repetition, self._step_number, Ask())
        task = ag.AgentTask("", "", ag.AgentKind(session.provider.model), prompt)
        relay = Relay("", self, session.background)
        host = Host(session, self, task, relay, lambda words: self.notice("info", words), self._step)
        try:
            await agent.converse(prompt, earlier, host)
        except FanoutError as error:
            return Ending("failed", error.line)
        finally:
            host.end_calls()
            self.approvals_missed.extend(self._step.approvals.missed)
        return None

    def emit(self, event: ev.Event) -> None:
        super().emit(event)
        if isinstance(event, ev.UsageReported) and (limit := self.spent()):
            self._stop(Ending("failed", limit))


def _in_words(history: Sequence[Message]) -> str:
    said = [f"{one.role}: {one.content}" for one in history if one.role in ("user", "assistant") and one.content]
    text = "\n\n".join(said)
    return f"{EARLIER}\n\n{text[-MOST_EARLIER:]}\n\n[Fanout: now it says:]\n\n" if text else ""
