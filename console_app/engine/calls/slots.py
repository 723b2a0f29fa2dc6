"""Let calls run within limits of the app, a server and a tool, and one at a time on the same file. A call holds all its
limits together, so no two can wait for each other. It keeps its place in the line for a file, since the order of two
writes matters; for other limits a call that fits passes one that doesn't."""

from __future__ import annotations

import asyncio
import posixpath
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, cast
from urllib.parse import unquote, urlsplit

from console_app.domain import ToolSpec, plural
from console_app.records import dataclass, field

_NAMES_A_FILE = re.compile(
    r"((file|source|target|dest|destination|notebook|resource|output|input)_?)?"
    r"(path|file|file_?name|uri|resource|source|target|dest|destination)s?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Limit:
    """At most `most` calls that share `key` run at once; `why` is what a queued call shows."""

    key: tuple[str, str]
    most: int
    why: str
    in_order: bool = False


@dataclass(slots=True, eq=False)
class Ticket:
    """A call's place: `granted` is done when it may run. `why` says what it waits for."""

    limits: Sequence[Limit]
    granted: asyncio.Future[None]
    why: str = ""
    held: bool = field(default=False)


class Slots:
    """The limits in use across a session, or across all that share their servers. Every ticket must be given back,
    granted or not."""

    def __init__(self) -> None:
        self._used: Counter[tuple[str, str]] = Counter()
        self._lines: Counter[tuple[str, str]] = Counter()  # keys that somebody waits for in order
        self._queue: dict[Ticket, None] = {}  # the oldest first

    def ask(self, limits: Sequence[Limit]) -> Ticket:
        ticket = Ticket(limits, asyncio.get_running_loop().create_future())
        waits = next((limit for limit in limits if self._is_taken(limit) or self._lines[limit.key] > 0), None)
        if waits is None:
            self._grant(ticket)
        else:
            ticket.why = waits.why
            self._queue[ticket] = None
            self._lines.update(limit.key for limit in limits if limit.in_order)
        return ticket

    def give_back(self, ticket: Ticket) -> None:
        """Free a ticket's slots, or its place in the line. Again does nothing."""
        if ticket.held:
            ticket.held = False
            _less(self._used, [limit.key for limit in ticket.limits])
        elif ticket in self._queue:
            self._leave_line(ticket)
        else:
            return
        self._serve()

    def _serve(self) -> None:
        passed: set[tuple[str, str]] = set()
        for ticket in list(self._queue):
            if any(self._is_taken(limit) or limit.key in passed for limit in ticket.limits):
                passed.update(limit.key for limit in ticket.limits if limit.in_order)
                if ticket.limits and ticket.limits[0].key == APP and self._is_taken(ticket.limits[0]):
                    return  # the app itself is full: nobody behind can run either
                continue
            self._leave_line(ticket)
            self._grant(ticket)

    def _is_taken(self, limit: Limit) -> bool:
        return self._used[limit.key] >= limit.most

    def _grant(self, ticket: Ticket) -> None:
        ticket.held = True
        self._used.update(limit.key for limit in ticket.limits)
        if not ticket.granted.done():
            ticket.granted.set_result(None)

    def _leave_line(self, ticket: Ticket) -> None:
        del self._queue[ticket]
        _less(self._lines, [limit.key for limit in ticket.limits if limit.in_order])


APP = ("app", "")


def _less(counter: Counter[tuple[str, str]], keys: Sequence[tuple[str, str]]) -> None:
    for key in keys:
        counter[key] -= 1
        if not counter[key]:
            del counter[key]


def limits_of(spec: ToolSpec, arguments: Mapping[str, Any], max_parallel: int) -> list[Limit]:
    most = max(max_parallel, 1)
    limits = [Limit(APP, most, f"{plural(most, 'call')} {'is' if most == 1 else 'are'} running, the most at once")]
    if spec.server_limit is not None:
        most = max(spec.server_limit, 1)
        limits.append(Limit(("server", spec.server), most, f"server {spec.server} takes {most} at once"))
    if spec.tool_limit is not None:
        limits.append(
            Limit(("each", spec.name), max(spec.tool_limit, 1), f"{spec.label} takes {spec.tool_limit} at once")
        )
    if not spec.parallel:
        limits.append(Limit(("tool", spec.name), 1, f"{spec.label} runs one at a time", in_order=True))
    if not spec.annotations.read_only:
        for name in dict.fromkeys(files_of(arguments)):
            limits.append(Limit(("file", name), 1, f"another call works on {name}", in_order=True))
    return limits


def agents_at_once(most: int) -> Limit:
    return Limit(("agents", ""), max(most, 1), f"{plural(max(most, 1), 'agent')} run already, the most at once")


def limited(spec: ToolSpec, never_parallel: Sequence[str], limits: Mapping[str, int]) -> ToolSpec:
    """Return `spec` under the user's settings: patterns of tools that never run beside themselves, and numbers for
    servers (by name) and tools (by pattern of server.tool). The tightest number counts, mcp.json's too."""
    changes: dict[str, Any] = {}
    if spec.parallel and any(fnmatchcase(spec.label, pattern) for pattern in never_parallel):
        changes["parallel"] = False
    if (most := limits.get(spec.server)) is not None:
        changes["server_limit"] = min(most, spec.server_limit or most)
    found = [most for pattern, most in limits.items() if "." in pattern and fnmatchcase(spec.label, pattern)]
    if found:
        changes["tool_limit"] = min(*found, spec.tool_limit or found[0], found[0])
    return spec.model_copy(update=changes) if changes else spec


def files_of(arguments: Mapping[str, Any]) -> Iterator[str]:
    for name, value in arguments.items():
        if _NAMES_A_FILE.fullmatch(name) is None:
            continue
        for item in cast("list[Any]", value) if isinstance(value, list) else [value]:
            if isinstance(item, str) and item.strip():  # spelt in one way, as a path or as a file URI
                named = unquote(urlsplit(item).path) if item.startswith("file:") else item
                yield named if "://" in named else posixpath.normpath(named.strip())
