"""Opens what runs items in this process: its servers, its models, its limits. One a process, for any engine."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from console_app import wiring
from console_app.batch import EventFiles, SharedModels, TurnWorker
from console_app.config.servers import ServerChoice
from console_app.domain import Attachment, errors
from console_app.wiring import Setup

if TYPE_CHECKING:
    from console_app.mcp_client import Hub


class OpenWorker:
    """A worker with its servers, started and settled once `ready` returns."""

    def __init__(self, hub: Hub, models: SharedModels, worker: TurnWorker) -> None:
        self.hub = hub
        self.models = models
        self.worker = worker

    async def ready(self, settled: Callable[[Hub], Awaitable[None]]) -> None:
        await settled(self.hub)
        wiring.freeze_collector()


@asynccontextmanager
async def open_worker(
    setup: Setup,
    servers: ServerChoice,
    *,
    events: Path | None = None,
    record: Path | None = None,
    replay: Path | None = None,
    named_servers: bool = False,
) -> AsyncGenerator[OpenWorker]:
    """Open a worker under the settings of `setup`; its connections are closed at the end. Raises FanoutError.

    `events` is the folder of each item's events, `record` that of its traffic, which `replay` plays back: then no
    server starts. `named_servers` says that `servers` are the ones that calls name.
    """

    def files_in(folder: Path | None) -> EventFiles | None:
        return EventFiles(folder, setup.redactor) if folder is not None else None

    models = SharedModels(wiring.model_source(setup))
    started = servers if replay is None else ServerChoice()
    hub = wiring.build_hub(setup, started, picks=None if named_servers else wiring.picks(setup))
    worker = TurnWorker(
        models=models,
        toolset=hub,
        settings=wiring.engine_settings(setup.settings, headless=True),
        gate=wiring.build_gate(setup, servers, headless=True),
        attach=_attaching(setup.cwd, setup.paths.files, named=events is not None),
        instructions=hub.instructions,
        event_files=files_in(events),
        record=files_in(record),
        replay=files_in(replay),
        hooks=wiring.hooks_of_calls(setup),
    )
    await hub.start()
    try:
        yield OpenWorker(hub, models, worker)
    finally:
        await asyncio.gather(hub.close(), models.close())


def _attaching(
    folder: Path, saved: Path, *, named: bool
) -> Callable[[Sequence[str]], Awaitable[tuple[Attachment, ...]]]:
    async def attach(paths: Sequence[str]) -> tuple[Attachment, ...]:
        from console_app.console import files

        words = " ".join(f"@{files.written_path(path)}" for path in paths)
        composed = await files.Attachments(folder, saved, None, lambda: "", named=named).compose("", words)
        if composed.notices:
            raise errors.AttachmentError(composed.notices[0])
        return composed.message.attachments

    return attach
