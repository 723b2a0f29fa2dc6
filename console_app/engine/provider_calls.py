"""The calls that the provider runs itself in a turn (web search, code, MCP connectors): told of, never run here.

They have panels and are stored as other calls are, but no approval, no result of ours in the history and no second run:
what goes back to the provider is the blocks that it gave. One may begin in an answer that the provider paused and end
in the next.
"""

from __future__ import annotations

from collections.abc import Callable

from console_app.domain import events as ev
from console_app.domain.chunks import ProviderCallFinished, ProviderCallStarted
from console_app.domain.tools import Outcome
from console_app.engine.arguments import UnreadableArguments, read
from console_app.engine.results import INTERRUPTED
from console_app.engine.session import Session


class ProviderCalls:
    """Of one turn. `emit` takes their events."""

    def __init__(self, session: Session, emit: Callable[[ev.Event], None]) -> None:
        self._session = session
        self._emit = emit
        self._open: dict[str, tuple[str, float]] = {}  # the provider's id: ours, and when it began
        self.count = 0  # of those that were told of

    def started(self, chunk: ProviderCallStarted) -> None:
        """The provider runs a tool of its own."""
        if chunk.id in self._open:
            return
        call_id = self._session.new_call_id(chunk.id, "provider_call")
        name = f"{chunk.server}.{chunk.name}" if chunk.server else chunk.name
        self._emit(
            ev.CallAnnounced(
                call_id=call_id,
                index=self.count,
                name=chunk.name,
                server=self._session.provider.name,
                tool=name,
                origin="provider",
            )
        )
        self.count += 1
        self._open[chunk.id] = call_id, self._session.monotonic()
        self._ready(call_id, chunk.arguments)
        self._emit(ev.CallStarted(call_id=call_id))

    def finished(self, chunk: ProviderCallFinished) -> None:
        """What came of it; of one that nobody told of, nothing."""
        if (found := self._open.pop(chunk.id, None)) is None:
            return
        call_id, began = found
        self._ready(call_id, chunk.arguments)
        took = round((self._session.monotonic() - began) * 1000)
        error = chunk.content.partition("\n")[0] or "It failed." if chunk.outcome is Outcome.FAILED else None
        self._emit(
            ev.CallFinished(
                call_id=call_id, outcome=chunk.outcome, content=chunk.content, error=error, duration_ms=took
            )
        )

    def end(self) -> None:
        """The provider says no more of those that are open."""
        for provider_id in list(self._open):
            self.finished(ProviderCallFinished(provider_id, Outcome.INTERRUPTED, INTERRUPTED))

    def _ready(self, call_id: str, arguments: str) -> None:
        if arguments:
            try:
                self._emit(ev.CallReady(call_id=call_id, arguments=read(arguments)))
            except UnreadableArguments:
                self._emit(ev.CallArguments(call_id=call_id, delta=arguments))
