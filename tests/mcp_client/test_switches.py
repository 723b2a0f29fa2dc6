"""Servers and single tools are switched on and off while others run; servers come and go."""

from __future__ import annotations

from console_app.config.servers import ServerConfig
from console_app.mcp_client import ServerState
from tests.mcp_client.conftest import StartHub

CALCULATOR = ServerConfig(name="calculator", command="python", args=("-m", "console_app.servers.calculator"))
DEMO = ServerConfig(name="demo", command="python", args=("-m", "console_app.servers.demo"))


async def test_a_server_goes_off_and_comes_back_in_its_place(start_hub: StartHub) -> None:
    bench = await start_hub(CALCULATOR, DEMO)
    before = [spec.name for spec in bench.hub.tools()]
    await bench.hub.set_enabled("calculator", False)
    assert bench.status("calculator").state is ServerState.DISABLED
    assert {spec.server for spec in bench.hub.tools()} == {"demo"}
    await bench.hub.set_enabled("calculator", True)
    await bench.until_state(ServerState.READY, "calculator")
    assert [spec.name for spec in bench.hub.tools()] == before


async def test_a_server_that_began_disabled_can_be_switched_on(start_hub: StartHub) -> None:
    bench = await start_hub(CALCULATOR.model_copy(update={"disabled": True}))
    await bench.hub.set_enabled("calculator", True)
    await bench.until_state(ServerState.READY, "calculator")


async def test_a_tool_that_is_off_is_not_offered_and_still_listed(start_hub: StartHub) -> None:
    bench = await start_hub(CALCULATOR)
    all_tools = list(bench.hub.all_tools())
    bench.hub.select({("calculator", "tool", all_tools[0].tool)})
    assert all_tools[0].name not in [spec.name for spec in bench.hub.tools()]
    assert list(bench.hub.all_tools()) == all_tools
    bench.hub.select(())
    assert list(bench.hub.tools()) == all_tools


async def test_a_server_is_added_and_removed_while_others_run(start_hub: StartHub) -> None:
    bench = await start_hub(CALCULATOR)
    await bench.hub.put(DEMO)
    await bench.until_state(ServerState.READY, "demo")
    await bench.hub.remove("demo")
    assert [status.name for status in bench.hub.statuses()] == ["calculator"]
    assert {spec.server for spec in bench.hub.tools()} == {"calculator"}
