"""A ping tells the same of a server in every face, and the report on the server remembers the newest."""

from __future__ import annotations

from pathlib import Path

from console_app.config.servers.mcp_servers import ServerConfig
from console_app.console.servers.news import Pings
from console_app.mcp_client import Hub
from tests.each import each
from tests.patience import PATIENCE

CALCULATOR = ServerConfig(name="calculator", command="python", args=("-m", "console_app.servers.calculator"))
SERVERS = (
    CALCULATOR,
    CALCULATOR.model_copy(update={"name": "resting", "disabled": True}),
    ServerConfig(name="dead", command="no-such-program-anywhere"),
)


@each(
    ("server", "told", "remembered"),
    [
        ("calculator", "calculator answered in ", "ms"),
        ("resting", "resting is disabled.", "no answer: it is disabled"),
        ("dead", "dead is failed: command not found: no-such-", "no answer: it is failed: command not found"),
    ],
)
async def test_a_ping_says_how_long_it_took_or_why_there_is_no_answer(
    tmp_path: Path, server: str, told: str, remembered: str
) -> None:
    hub = Hub(SERVERS, log_dir=tmp_path / "logs", files_dir=tmp_path / "files")
    pings = Pings(hub, hub.statuses, lambda text: text.replace("no-such-program", "(hidden)"))
    try:
        await hub.start()
        await hub.ready(PATIENCE)
        assert "not asked" in _ping_line(pings.report(server, not_asked="not asked", wire="there"))
        assert (await pings.ping(server)).startswith(told)
        line = _ping_line(pings.report(server, not_asked="not asked", wire="there"))
        assert remembered in line
        assert "no-such-program" not in line
    finally:
        await hub.close()


def _ping_line(report: str) -> str:
    return next(line for line in report.splitlines() if line.startswith("ping"))
