"""Notices of what changed at a server, gathered until somebody looks, so that a flood of notices is one look."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from mcp import Client
    from mcp.client.session import IncomingMessage

Kind = Literal["tools", "prompts", "resources"]

log = logging.getLogger(__name__)

MOST_UPDATES = 1000  # resources of one look; a server that names more has no more than that to say
QUIET_SECONDS = 0.2  # after a notice before one looks
MOST_WAITS = 10  # for a server that is never quiet
_RETRY_SECONDS = (0.5, 2.0, 10.0, 60.0)


class ChangeNotices:
    """`news` is set while there is something new; `subscribed` are the resources that we want updates of."""

    def __init__(self) -> None:
        self.news = asyncio.Event()
        self.subscribed: set[str] = set()
        self.resubscribe = asyncio.Event()  # `subscribed` is another now
        self.tools_heard = 0  # notices that the tools are others
        self.tools_listed = 0  # those of them that were there when the tools were listed last
        self._kinds: set[Kind] = set()
        self._updated: dict[str, None] = {}
        self._completed: dict[str, asyncio.Event] = {}

    async def heard(self, message: IncomingMessage) -> None:
        """Take a notice of the server (the SDK's `message_handler`)."""
        method = getattr(message, "method", "")
        match method:
            case "notifications/tools/list_changed":
                self.add("tools")
            case "notifications/prompts/list_changed":
                self.add("prompts")
            case "notifications/resources/list_changed":
                self.add("resources")
            case "notifications/resources/updated":
                uri = getattr(getattr(message, "params", None), "uri", "")
                if uri and len(self._updated) < MOST_UPDATES:
                    self._updated[str(uri)] = None
                    self.news.set()
            case "notifications/elicitation/complete":
                identifier = getattr(getattr(message, "params", None), "elicitation_id", "")
                # The notice may come before anybody waits for it.
                if identifier in self._completed or len(self._completed) < MOST_UPDATES:
                    self.completion(identifier).set()
            case _:
                pass

    def add(self, kind: Kind) -> None:
        """Take note that a list has changed, or has to be looked at for another reason."""
        self._kinds.add(kind)
        self.tools_heard += kind == "tools"
        self.news.set()

    def behind(self, first: dict[ChangeNotices, int]) -> bool:
        """Return whether the tools were not listed since the notices of the first look, which `first` keeps.

        Who looks until they were waits for a server that is never quiet no longer than for any other.
        """
        return self.tools_listed < first.setdefault(self, self.tools_heard)

    async def gathered(self) -> tuple[set[Kind], dict[str, None]]:
        """Gather all that is said until the server is quiet for a moment, but not for ever."""
        for _ in range(MOST_WAITS):
            if not self.news.is_set():
                break
            self.news.clear()
            await asyncio.sleep(QUIET_SECONDS)
        self.news.clear()
        kinds, updated = self._kinds, self._updated
        self._kinds, self._updated = set(), {}
        return kinds, updated

    def completion(self, identifier: str) -> asyncio.Event:
        """Return an event for the end of what the user does on a page (URL elicitation), as the server tells it."""
        return self._completed.setdefault(identifier, asyncio.Event())

    def forget(self, identifier: str) -> None:
        self._completed.pop(identifier, None)


async def listen(client: Client, changes: ChangeNotices) -> None:
    """Keep a stream of notices open: from 2026-07-28 a server tells of changes only to those that listen.

    What arrives there also reaches `ChangeNotices.heard`. A stream that ends is opened again, later each time; since
    something may have been missed meanwhile, the lists are looked at again.
    """
    offered = client.server_capabilities
    tools = offered.tools is not None and bool(offered.tools.list_changed)
    prompts = offered.prompts is not None and bool(offered.prompts.list_changed)
    resources = offered.resources is not None and bool(offered.resources.list_changed)
    failures = 0
    while failures < len(_RETRY_SECONDS):
        changes.resubscribe.clear()
        if not (tools or prompts or resources or changes.subscribed):
            await changes.resubscribe.wait()
            continue
        try:
            async with client.listen(
                tools_list_changed=tools,
                prompts_list_changed=prompts,
                resources_list_changed=resources,
                resource_subscriptions=sorted(changes.subscribed),
            ) as subscription:
                again = asyncio.ensure_future(changes.resubscribe.wait())
                ended = asyncio.ensure_future(_to_its_end(subscription))
                try:
                    await asyncio.wait({again, ended}, return_when=asyncio.FIRST_COMPLETED)
                    if again.done():
                        continue
                    ended.result()
                finally:
                    again.cancel()
                    ended.cancel()
                    await asyncio.gather(ended, return_exceptions=True)
        except Exception as error:
            log.info("the stream of notices ended: %s", error)
        await asyncio.sleep(_RETRY_SECONDS[failures])
        failures += 1
        if tools:
            changes.add("tools")


async def _to_its_end(subscription: object) -> None:
    async for _ in subscription:  # pyright: ignore[reportGeneralTypeIssues, reportUnknownVariableType] -- typed only with the SDK loaded
        pass
