"""A face of one page: whoever writes another needs no more than the port, the table's ways and the console's verbs."""

from __future__ import annotations

import asyncio
from pathlib import Path

from console_app.console import ApprovalDecision, Console, UiPort
from console_app.console.intents import INTENTS, Cannot, Commands, Slash
from console_app.domain.approvals import ApprovalMode
from console_app.domain.displayed import digest
from console_app.domain.events import ApprovalRequested, Decision, Event, Level
from console_app.domain.transcript import Transcript
from console_app.engine import ApprovalGate
from tests.tui.parts import Tools, WrittenModel, calls, echo, say, services

WAYS = {**dict.fromkeys(INTENTS, Cannot("a plain prompt has no room for it")), "cost": Slash(), "policy": Slash()}


class PlainPrompt(UiPort):
    """Says everything as a line, and lets what only reads run."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.asked = asyncio.Semaphore(0)
        self._transcript = Transcript()

    @property
    def transcript(self) -> Transcript:
        return self._transcript

    def show(self, event: Event) -> None:
        self._transcript.apply(event)
        if isinstance(event, ApprovalRequested):
            self.asked.release()

    async def next_slice(self) -> None:
        await asyncio.sleep(0)

    def tell(self, level: Level, text: str) -> None:
        self.lines.append(text)

    def toast(self, text: str, seconds: float = 4) -> None:
        self.lines.append(text)


async def test_a_plain_prompt_sends_decides_edits_and_does_what_every_face_does(tmp_path: Path) -> None:
    model = WrittenModel(calls(*(("lab_do", f'{{"text": "{one}"}}') for one in "abc")), say("All."))
    made = services(tmp_path, model, Tools({("lab", "do"): echo}), gate=ApprovalGate(ApprovalMode.ASK))
    face = PlainPrompt()
    console = Console(made, face)
    commands = Commands(console)
    commands.use(WAYS)
    console.readiness.waits_for_nothing()

    console.send("Do all.")
    for _ in range(3):
        await face.asked.acquire()
    first, second, third = console.pending.all()
    for pending, decision in ((first, Decision.ALLOW), (second, Decision.DENY)):
        face.lines += [*pending.reasons(), *(line.text for line in pending.lines())]
        shown = {pending.call.id: pending.fingerprint or ""}
        seen = {pending.call.id: digest(pending.lines())}
        assert console.permissions.decide(ApprovalDecision((pending.call.id,), decision, shown=shown, displayed=seen))
    console.permissions.run_edited(third.call.id, {"text": "d"}, third.fingerprint)
    await console.conversation.ended()
    ended = list(face.transcript.calls.values())
    assert [call.verdict.word for call in ended if call.verdict] == ["ok", "denied", "ok"]
    assert ended[2].arguments == {"text": "d"}
    console.calls.run_again(first.call.id)
    await console.conversation.ended()
    assert ended[0].attempt == 2

    for name, rest in (("cost", ""), ("policy", "sideways")):
        if (work := commands.do(commands.own[name], rest)) is not None:
            await work()
    assert any("tokens" in line for line in face.lines)
    assert face.lines[-1].startswith("There is no policy sideways.")
    await console.close()
