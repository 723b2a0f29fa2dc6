"""A prompt that begins with `!` runs a command by hand, and its output joins the conversation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from console_app.console import Console, Models, Services
from console_app.domain import ApprovalMode
from console_app.domain import events as ev
from console_app.domain.ports import Toolset
from console_app.engine import ApprovalGate, Engine
from tests.console.peers import Screen
from tests.engine.peers import Model, Tools, spec
from tests.mcp_client.conftest import Bench, start_hub
from tests.servers.conftest import bundled

__all__ = ["start_hub"]


def console_with(toolset: Toolset, model: Model, screen: Screen, folder: Path) -> Console:
    engine = Engine(provider=model, toolset=toolset, gate=ApprovalGate(ApprovalMode.ASK))
    services = Services(
        engine=engine,
        models=Models(engine),
        history_path=folder / "history",
        log_path=folder / "log",
        theme_dirs=(),
    )
    return Console(services, screen)


async def test_without_the_shell_it_says_so_and_stays_in_the_prompt(tmp_path: Path) -> None:
    screen = Screen()
    console = console_with(Tools([spec("look")]), Model(), screen, tmp_path)
    await console.start()
    console.send("!ls")
    await screen.until(lambda: screen.told)
    assert screen.told == [
        ("error", "! runs a command with the server shell, and that is off. /mcp switches it on."),
    ]
    assert screen.field == "!ls"
    await console.close()


async def test_a_command_by_hand_runs_and_the_model_reads_it(start_hub: Callable[..., Any], tmp_path: Path) -> None:
    bench: Bench = await start_hub(bundled("shell", tmp_path))
    model, screen = Model(), Screen()
    console = console_with(bench.hub, model, screen, tmp_path)
    await console.start()
    console.send("!echo 'by \"hand\"'; exit 3")
    await screen.sees(ev.TurnFinished)
    turn = screen.transcript.turns[-1]
    (call,) = turn.calls
    assert turn.prompt == "!echo 'by \"hand\"'; exit 3"  # as it was typed
    assert turn.without_success == [call]
    assert (call.tool, call.arguments) == ("run", {"command": "echo 'by \"hand\"'; exit 3"})
    assert call.content.startswith('by "hand"\n[exit 3 in ')
    assert call.verdict is not None
    assert call.verdict.why == "exit 3"
    assert model.requests == []
    console.send("and?")
    await screen.sees(ev.TurnFinished, 2)
    assert 'by "hand"' in str(model.requests[0].messages)
    await console.close()
