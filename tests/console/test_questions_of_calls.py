"""A server's question for a call ends with the call's run, whichever face shows it."""

from __future__ import annotations

import asyncio
from pathlib import Path

from console_app.console.console import Console
from console_app.domain import events as ev
from console_app.domain.questions import Elicitation
from console_app.domain.tools import Outcome
from tests.console.peers import Screen
from tests.each import each
from tests.tui.parts import services

ENDS: dict[str, ev.Event] = {
    "it ended": ev.CallFinished(call_id="a", outcome=Outcome.TIMED_OUT, content=""),
    "it runs again": ev.CallRestarted(call_id="a", attempt=2),
}


@each("over", ENDS.values(), ids=ENDS)
async def test_a_question_of_a_call_that_is_over_is_withdrawn_and_no_other(over: ev.Event, tmp_path: Path) -> None:
    made = services(tmp_path)
    console = Console(made, Screen())
    both = asyncio.Event()
    made.human.listen(lambda: both.set() if len(made.human.open) == 2 else None)
    mine, another = (
        asyncio.create_task(made.human.ask(Elicitation("lab", "Which?", call_id=call_id))) for call_id in "ab"
    )
    await both.wait()
    await console.conversation.deliver(over)
    assert (await mine).action == "cancel"
    assert [one.question.call_id for one in made.human.open] == ["b"]
    await console.close()
    assert (await another).action == "cancel"
