"""The messages between a client and its workers, as JSON: no key, no environment and no settings file travels.

A client speaks and a worker answers. What an answer lost on its way said comes again with the next one, since a worker
keeps results until the client has them on its disk.
"""

from __future__ import annotations

import platform
from typing import Any

from pydantic import Field

from console_app._version import __version__
from console_app.domain import batch
from console_app.domain.tools import Frozen


def versions() -> dict[str, str]:
    """Return the versions of all that both ends must have alike, by name."""
    return {"Fanout": __version__, "Python": ".".join(platform.python_version_tuple()[:2])}


class Opening(Frozen):
    """Has a worker start its servers and models, or go on with a run of the same name."""

    run: str  # the same whenever the run is started again
    arguments: dict[str, Any]  # the command line, as the parser gives it
    models: tuple[str, ...] = ()  # PROVIDER/MODEL of all items, "" for that of the settings
    tools: tuple[str, ...] = ()  # SERVER.TOOL that its items call
    calls: bool = False  # its items are calls


class OpenedNode(Frozen):
    """The answer. `problem` says in one line why it can't work here, "" if it can."""

    problem: str = ""
    node: str = ""  # which start of the worker this is
    jobs: int = 1  # items that it takes at once
    held: dict[str, str] = Field(default_factory=dict[str, str])  # items that it runs, or has results of: id to digest
    noted: tuple[str, ...] = ()  # of these, those that may have changed something


class Orders(Frozen):
    """The wishes of a client since its last orders."""

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
    """The answer: what happened since the last."""

    gone: bool = False  # the worker was started again since, and knows nothing
    jobs: int = 1
    results: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    asks: tuple[str, ...] = ()  # items that are about to start a call which isn't read-only
