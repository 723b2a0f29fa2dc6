"""A call of a tool that isn't offered is told why, where its server is the reason."""

from __future__ import annotations

import sys

from console_app.config.servers import ServerConfig
from console_app.engine.execution.builtin_tools import why_not_offered
from console_app.mcp_client import HubSwitch
from tests.mcp_client.conftest import FIXTURES, StartHub

CALCULATOR = ServerConfig(name="calculator", command="python", args=("-m", "console_app.servers.calculator"))
BAD = (str(FIXTURES / "faulty_server.py"), "bad-schema")


async def test_what_is_not_offered_is_told_with_its_reason(start_hub: StartHub) -> None:
    bench = await start_hub(
        CALCULATOR,
        CALCULATOR.model_copy(update={"name": "resting", "disabled": True}),
        ServerConfig(name="dead end", command=sys.executable, args=("-c", "import sys; sys.exit('no key')")),
        ServerConfig(name="dead", command="no-such-program-anywhere"),
        ServerConfig(name="odd", command=sys.executable, args=BAD),
    )
    switch = HubSwitch(bench.hub)
    assert switch.why_missing("dead_x") == "server dead failed: command not found: no-such-program-anywhere"
    assert switch.why_missing("dead_end_x") == "server dead end failed: exited with code 1: no key"
    assert switch.why_missing("resting_evaluate") == "server resting is switched off"
    assert switch.why_missing("odd_list_schema").startswith("odd.list_schema is left out: its inputSchema is")
    assert switch.why_missing("calculator_guess") == switch.why_missing("nobody_x") == ""
    bench.hub.select({("calculator", "tool", "evaluate")})
    assert switch.why_missing("calculator_evaluate") == "calculator.evaluate is switched off"


async def test_a_server_is_asked_for_while_none_is_off(start_hub: StartHub) -> None:
    bench = await start_hub(CALCULATOR)
    switch = HubSwitch(bench.hub)
    assert why_not_offered("fanout_enable_server", switch) == "no server is off, so there is none to switch on"
    assert why_not_offered("nobody_x", switch) == why_not_offered("fanout_enable_server", None) == ""
    await bench.hub.set_enabled("calculator", False)
    assert why_not_offered("fanout_enable_server", switch) == ""
