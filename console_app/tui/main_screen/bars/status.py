"""Make the text of the status bar from where each fact is true: engine, transcript, servers."""

from __future__ import annotations

from console_app.console import Services
from console_app.domain import ports
from console_app.domain.transcript import Transcript
from console_app.tui.main_screen.bars.status_bar import Status


def read_status(services: Services, transcript: Transcript) -> Status:
    """The status as it is now."""
    engine = services.engine
    model, provider, host = engine.provider.model, engine.provider.name, services.models.host
    states = [str(server.state) for server in services.server_statuses()]
    return Status(
        model=model or "…",
        provider=f"{provider} at {host}" if host else provider,
        strategy=engine.settings.strategy,
        effort=ports.effort_for(engine.provider, engine.settings.effort),
        policy=engine.settings.policy_for(engine.provider.protocol).value,
        mode=engine.gate.mode,
        servers_ready=states.count("ready"),
        servers_starting=states.count("starting") + states.count("reconnecting"),
        servers_failed=states.count("failed"),
        tools=len(engine.toolset.tools()),
        protocol=ports.protocol_label(engine.provider).removeprefix("native, "),
        context=_context(services, transcript),
        context_window=services.models.window,
        cost=transcript.usage.cost,
        storage=_storage(services),
    )


def _context(services: Services, transcript: Transcript) -> int:
    """Count the tokens of the newest request and its answer, or about those of the next one where that is another by
    now."""
    usage = transcript.usage
    if not usage.stale or not usage.context:
        return usage.context
    return sum(part.tokens for part in services.engine.context_parts(transcript))


def _storage(services: Services) -> str:
    """Say in a few words what is wrong with keeping this session; "" when nothing is."""
    if services.replay is not None:
        return "replay"
    if (library := services.library) is None:
        return ""
    if library.read_only:
        return "read only"
    problem = library.store.problem
    return "" if problem is None else f"not saved: {problem.reason}"
