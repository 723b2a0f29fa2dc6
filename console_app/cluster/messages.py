"""Messages between a client and its workers, as JSON: no key, environment or settings file travels. A lost answer comes
again with the next, since workers keep results until the client has them on its disk."""

from __future__ import annotations

import platform
from typing import Any

from pydantic import Field

from console_app._version import __version__
from console_app.domain import batch
from console_app.domain.tools import Frozen


def versions() -> dict[str, str]:
    return {"Fanout": __version__, "Python": ".".join(platform.python_version_tuple()[:2])}


class Opening(Frozen):
    """Has a worker start its servers and models, or go on with a run of the same name."""

    run: str  # the same whenever the run is started again
    arguments: dict[str, Any]  # the command line, as the parser gives it
    models: tuple[str, ...] = ()  # PROVIDER/MODEL of all items, "" for that of the settings
    tools: tuple[str, ...] = ()  # SERVER.TOOL that its items call
    calls: bool = False  # its items are calls


class OpenedNode(Frozen):
    problem: str = ""
    node: str = ""  # which start of the worker this is
    jobs: int = 1  # items that it takes at once
    held: dict[str, str] = Field(default_factory=dict[str, str])  # items that it runs, or has results of: id to digest
    noted: tuple[str, ...] = ()  # of these, those that may have changed something


class Orders(Frozen):
    run: str
    node: str
    wait: float = 0.0  # seconds until it wants an answer at the latest, even if there is nothing to tell
    items: tuple[batch.WorkItem, ...] = ()
    cancel: tuple[str, ...] = ()
    noted: tuple[str, ...] = ()  # their calls may start
    refused: tuple[str, ...] = ()  # their calls must not start
    kept: tuple[str, ...] = ()  # results on the client's disk: to be forgotten
    again: bool = False  # the last answer got lost: all of it that counts is wanted once more
    watch: str = ""  # the item whose turn events are wanted


class Told(Frozen):
    gone: bool = False  # the worker was started again since, and knows nothing
    jobs: int = 1
    results: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    asks: tuple[str, ...] = ()  # items that are about to start a call which isn't read-only
