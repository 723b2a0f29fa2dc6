"""Lists what a session has beside tools, in our words.

Lists are optional whatever a server advertises: one that it doesn't know is empty, one that fails is a problem of
that list alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence, Sized
from typing import TYPE_CHECKING, Protocol, TypeVar

import mcp_types as types
from mcp import MCPError
from mcp.shared.uri_template import UriTemplate
from pydantic import ValidationError

from console_app.mcp_client.connecting import faults
from console_app.mcp_client.offering.offers import (
    Offers,
    PromptArgument,
    Resource,
    ResourceContent,
    ResourceTemplate,
    ServerPrompt,
)
from console_app.mcp_client.tools import convert

if TYPE_CHECKING:
    from mcp import Client

MOST_PAGES = 1000
# The methods that list what a server offers beside tools, and one thing of each.
LISTS = {"prompts/list": "prompt", "resources/list": "resource", "resources/templates/list": "resource template"}
LIST_PATIENCE = 3.0  # seconds for a list before the others are shown without it
MOST_LISTED = 5_000  # tools, prompts or resources of one server
T = TypeVar("T")


class _Page(Protocol):
    @property
    def next_cursor(self) -> str | None: ...


P = TypeVar("P", bound=_Page)


async def every_page(fetch: Callable[[str | None], Awaitable[P]], listed: Callable[[P], Sized]) -> list[P]:
    """Return all pages of a list, up to a cursor that comes again or too many entries; `listed` gives what one page
    holds."""
    pages: list[P] = []
    cursor, seen, count = None, set[str](), 0
    for _ in range(MOST_PAGES):
        page = await fetch(cursor)
        pages.append(page)
        count += len(listed(page))
        cursor = page.next_cursor if count <= MOST_LISTED else None
        if not cursor or cursor in seen:
            break
        seen.add(cursor)
    return pages


def cut_short(pages: Sequence[_Page]) -> str:
    """Say why these pages are not the whole list, or ""."""
    if not pages or not pages[-1].next_cursor:
        return ""
    if len(pages) == MOST_PAGES:
        return f"its list goes on after {MOST_PAGES:,} pages"
    return f"its list goes on after {MOST_LISTED:,} entries, or in a circle"


async def offers(client: Client, server: str, seconds: float, so_far: Callable[[Offers], None]) -> Offers:
    """Return every prompt, resource and template that the server advertises; a list may take so many seconds.

    `so_far` is given what is there once a list has not been answered for a while, which is said of that list.
    """
    problems: list[str] = []
    capable = client.server_capabilities

    async def listed(
        what: str, advertised: object, fetch: Callable[[str | None], Awaitable[P]], of: Callable[[P], Sequence[T]]
    ) -> Sequence[T]:
        if not advertised:
            return ()
        try:
            async with asyncio.timeout(seconds):
                pages = await every_page(fetch, of)
            if why := cut_short(pages):
                problems.append(f"the {what} are not all here: {why}")
            return [one for page in pages for one in of(page)]
        except TimeoutError:
            problems.append(f"the {what} could not be listed: no answer within {seconds:g} s")
        except MCPError as error:
            if error.code != types.METHOD_NOT_FOUND:
                problems.append(f"the {what} could not be listed: {faults.connection_reason(error)}")
        except ValidationError as error:
            problems.append(f"the {what} could not be listed: {faults.first_problem(error)}")
        return ()

    async with asyncio.TaskGroup() as lists:  # one that isn't answered holds no other up
        offered = capable.resources
        prompts = lists.create_task(
            listed("prompts", capable.prompts, lambda at: client.list_prompts(cursor=at), lambda page: page.prompts)
        )
        resources = lists.create_task(
            listed("resources", offered, lambda at: client.list_resources(cursor=at), lambda page: page.resources)
        )
        templates = lists.create_task(
            listed(
                "resource templates",
                offered,
                lambda at: client.list_resource_templates(cursor=at),
                lambda page: page.resource_templates,
            )
        )

        def there(late: Sequence[str] = ()) -> Offers:
            return Offers(
                tuple(_prompt(server, one) for one in _so_far(prompts)),
                tuple(_resource(server, one) for one in _so_far(resources)),
                tuple(_template(server, one) for one in _so_far(templates)),
                (*problems, *late),
            )

        names = {prompts: "prompts", resources: "resources", templates: "resource templates"}
        _, pending = await asyncio.wait(names, timeout=LIST_PATIENCE)
        if pending:
            late = [what for task, what in names.items() if task in pending]
            so_far(there([f"the {what} are not here yet: no answer within {LIST_PATIENCE:g} s" for what in late]))
    return there()


def _so_far(task: asyncio.Task[Sequence[T]]) -> tuple[T, ...]:
    return tuple(task.result()) if task.done() else ()


def _prompt(server: str, one: types.Prompt) -> ServerPrompt:
    taken = (PromptArgument(arg.name, arg.description or "", bool(arg.required)) for arg in one.arguments or ())
    return ServerPrompt(server, one.name, one.title or "", one.description or "", tuple(taken))


def _resource(server: str, one: types.Resource) -> Resource:
    title, about, mime = one.title or "", one.description or "", one.mime_type or ""
    return Resource(server, one.uri, one.name, title, about, mime, one.size)


def _template(server: str, one: types.ResourceTemplate) -> ResourceTemplate:
    title, about, mime = one.title or "", one.description or "", one.mime_type or ""
    try:
        variables = tuple(dict.fromkeys(UriTemplate.parse(one.uri_template).variable_names))
    except ValueError:
        variables = ()
    return ResourceTemplate(server, one.uri_template, one.name, title, about, mime, variables)


def content(
    part: types.TextResourceContents | types.BlobResourceContents, files: convert.ResultFiles
) -> ResourceContent:
    """Return a part of a resource; bytes become a file, which is written."""
    mime = part.mime_type or ""
    if isinstance(part, types.TextResourceContents):
        return ResourceContent(part.uri, mime, part.text)
    name = part.uri.rstrip("/").rpartition("/")[2] or "resource"
    named, file = files.save(part.blob, mime or "application/octet-stream", name, f"resource {part.uri}")
    return ResourceContent(part.uri, mime, named, file)
