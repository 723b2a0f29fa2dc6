"""Models that write their calls as text write programs, too: one call with code, whose calls run on real servers."""

from __future__ import annotations

from typing import ClassVar

from console_app.domain import events as ev
from console_app.engine import Engine
from console_app.mcp_client import Hub
from console_app.programs import Runner
from console_app.textcalls import ToolSignature, render_calls
from tests.each import each
from tests.end_to_end import test_text_protocol as text_protocol
from tests.end_to_end.test_text_protocol import DONE, WRITABLE, of, play
from tests.examples import spread
from tests.wire_bytes import Answer, Text
from tests.wire_server import WireServer

CODE = """import asyncio
values = await asyncio.gather(*[calculator_evaluate(expression=f"{k}^2 + 1") for k in range(4)])
found = {"count": len(values), "quotes": "it's < 3 & more"}
print(found["count"], 'values', "a" "b")
values[0]
"""
RESULT = "4 values ab\n1"
SIGNATURE = ToolSignature(
    "fanout_program", {"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]}
)


class Asked:
    """The call as it is written."""

    name = SIGNATURE.name
    arguments: ClassVar = {"code": CODE}


def with_programs(server: WireServer, hub: Hub, dialect: str) -> Engine:
    made = text_protocol.engine(server, hub, "text", dialect, programs="auto")
    return Engine(
        provider=made.provider, toolset=hub, settings=made.settings, gate=made.gate, programs=Runner.installed()
    )


@each("dialect", spread(WRITABLE, 8))
async def test_a_program_written_as_text_runs_as_it_was_written(dialect: str, hub: Hub) -> None:
    with WireServer() as server:
        server.script(Answer(Text(render_calls(dialect, [Asked()], [SIGNATURE]), size=7)), DONE)
        events = await play(with_programs(server, hub, dialect))
        second = server.requests[1].body
    program, *inside = of(events, ev.CallAnnounced)
    assert program.name == "fanout_program"
    assert [one.parent for one in inside] == [program.call_id] * 4
    ready = {event.call_id: event.arguments for event in of(events, ev.CallReady)}
    assert ready[program.call_id]["code"].strip() == CODE.strip()
    finished = {event.call_id: event for event in of(events, ev.CallFinished)}
    assert finished[program.call_id].content == RESULT
    assert "4 values ab" in second["messages"][-1]["content"]
