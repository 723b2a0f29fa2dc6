"""Lists, reads and completes what a session has beside tools, in our words.

Lists are optional whatever a server advertises: one that it doesn't know is empty, one that fails is a problem of
that list alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence, Sized
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from mcp import MCPError
from mcp.shared.uri_template import UriTemplate
from mcp_types import (
    METHOD_NOT_FOUND,
    BlobResourceContents,
    EmptyResult,
    PromptReference,
    ResourceTemplateReference,
    TextResourceContents,
)
from mcp_types import SubscribeRequest as Subscribe
from mcp_types import SubscribeRequestParams as SubscribeParams
from mcp_types import UnsubscribeRequest as Unsubscribe
from mcp_types import UnsubscribeRequestParams as UnsubscribeParams
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from console_app.mcp_client.connecting import faults
from console_app.mcp_client.offering.offers import (
    Offers,
    PromptArgument,
    PromptMessage,
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
    """Return all pages of a list; `listed` gives what one page holds.

    A cursor that comes again ends the list, and so does the page with which there are too many entries.
    """
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
        what: str, advertised: object, fetch: Callable[[Client, str, list[str]], Awaitable[Sequence[T]]]
    ) -> Sequence[T]:
        if not advertised:
            return ()
        try:
            async with asyncio.timeout(seconds):
                return await fetch(client, server, problems)
        except TimeoutError:
            problems.append(f"the {what} could not be listed: no answer within {seconds:g} s")
        except MCPError as error:
            if error.code != METHOD_NOT_FOUND:
                problems.append(f"the {what} could not be listed: {faults.connection_reason(error)}")
        except ValidationError as error:
            problems.append(f"the {what} could not be listed: {faults.first_problem(error)}")
        return ()

    async with asyncio.TaskGroup() as lists:  # one that isn't answered holds no other up
        prompts = lists.create_task(listed("prompts", capable.prompts, _prompts))
        resources = lists.create_task(listed("resources", capable.resources, _resources))
        templates = lists.create_task(listed("resource templates", capable.resources, _templates))

        def there(late: Sequence[str] = ()) -> Offers:
            return Offers(_so_far(prompts), _so_far(resources), _so_far(templates), (*problems, *late))

        names = {prompts: "prompts", resources: "resources", templates: "resource templates"}
        _, pending = await asyncio.wait(names, timeout=LIST_PATIENCE)
        if pending:
            late = [what for task, what in names.items() if task in pending]
            so_far(there([f"the {what} are not here yet: no answer within {LIST_PATIENCE:g} s" for what in late]))
    return there()


def _so_far(task: asyncio.Task[Sequence[T]]) -> tuple[T, ...]:
    return tuple(task.result()) if task.done() else ()


def _add_rest(what: str, pages: Sequence[_Page], problems: list[str]) -> None:
    if why := cut_short(pages):
        problems.append(f"the {what} are not all here: {why}")


async def _prompts(client: Client, server: str, problems: list[str]) -> list[ServerPrompt]:
    pages = await every_page(lambda cursor: client.list_prompts(cursor=cursor), lambda page: page.prompts)
    _add_rest("prompts", pages, problems)
    return [
        ServerPrompt(
            server,
            prompt.name,
            prompt.title or "",
            prompt.description or "",
            tuple(
                PromptArgument(argument.name, argument.description or "", bool(argument.required))
                for argument in prompt.arguments or ()
            ),
        )
        for page in pages
        for prompt in page.prompts
    ]


async def _resources(client: Client, server: str, problems: list[str]) -> list[Resource]:
    pages = await every_page(lambda cursor: client.list_resources(cursor=cursor), lambda page: page.resources)
    _add_rest("resources", pages, problems)
    return [
        Resource(server, one.uri, one.name, one.title or "", one.description or "", one.mime_type or "", one.size)
        for page in pages
        for one in page.resources
    ]


async def _templates(client: Client, server: str, problems: list[str]) -> list[ResourceTemplate]:
    pages = await every_page(
        lambda cursor: client.list_resource_templates(cursor=cursor), lambda page: page.resource_templates
    )
    _add_rest("resource templates", pages, problems)
    return [
        ResourceTemplate(
            server,
            one.uri_template,
            one.name,
            one.title or "",
            one.description or "",
            one.mime_type or "",
            _variables(one.uri_template),
        )
        for page in pages
        for one in page.resource_templates
    ]


def _variables(uri_template: str) -> tuple[str, ...]:
    try:
        return tuple(dict.fromkeys(UriTemplate.parse(uri_template).variable_names))
    except ValueError:
        return ()


async def read_resource(client: Client, uri: str, files: convert.ResultFiles) -> list[ResourceContent]:
    """Return the parts of a resource; bytes become files."""
    result = await client.read_resource(uri)
    parts = [await asyncio.to_thread(_content, one, files) for one in result.contents[: convert.MOST_FILES]]
    left_out = len(result.contents) - len(parts)
    return [*parts, ResourceContent(uri, "text/plain", _left_out(left_out, "parts"))] if left_out else parts


def _left_out(count: int, what: str) -> str:
    return f"[{count} more {what} are left out: of one answer, the first {convert.MOST_FILES} are kept]"


def _content(content: TextResourceContents | BlobResourceContents, files: convert.ResultFiles) -> ResourceContent:
    mime = content.mime_type or ""
    if isinstance(content, TextResourceContents):
        return ResourceContent(content.uri, mime, content.text)
    name = content.uri.rstrip("/").rpartition("/")[2] or "resource"
    named, file = files.save(content.blob, mime or "application/octet-stream", name, f"resource {content.uri}")
    return ResourceContent(content.uri, mime, named, file)


async def get_prompt(
    client: Client, name: str, arguments: Mapping[str, str], files: convert.ResultFiles
) -> list[PromptMessage]:
    """Return the messages of a prompt, filled in."""
    result = await client.get_prompt(name, dict(arguments))
    messages: list[PromptMessage] = []
    for message in result.messages[: convert.MOST_FILES]:
        block = message.content
        if block.type == "resource":
            content = await asyncio.to_thread(_content, block.resource, files)
            messages.append(PromptMessage(message.role, "", (content,)))
            continue
        text, file = await asyncio.to_thread(convert.block_text, block, files)
        if block.type in ("image", "audio"):
            content = ResourceContent("", file.mime if file else "", text, file)
            messages.append(PromptMessage(message.role, "", (content,)))
        else:
            messages.append(PromptMessage(message.role, text))
    if left_out := len(result.messages) - len(messages):
        messages.append(PromptMessage("user", _left_out(left_out, "messages")))
    return messages


async def complete(
    client: Client, ref: ServerPrompt | ResourceTemplate, argument: str, value: str, others: Mapping[str, str]
) -> list[str]:
    """Return what the server proposes for an argument that is being typed; nothing where it has no completion."""
    if client.server_capabilities.completions is None:
        return []
    target: Any = (
        PromptReference(type="ref/prompt", name=ref.name)
        if isinstance(ref, ServerPrompt)
        else ResourceTemplateReference(type="ref/resource", uri=ref.uri_template)
    )
    result = await client.complete(target, {"name": argument, "value": value}, dict(others) or None)
    return result.completion.values


async def subscribe(client: Client, uri: str, *, on: bool) -> None:
    """Ask for updates of a resource, or no longer. From 2026-07-28 the stream of notices does that (`changes`)."""
    if client.protocol_version in MODERN_PROTOCOL_VERSIONS:
        return
    # Not the client's own methods: they warn on standard error that newer protocols have another way.
    request = Subscribe(params=SubscribeParams(uri=uri)) if on else Unsubscribe(params=UnsubscribeParams(uri=uri))
    await client.session.send_request(request, EmptyResult)
