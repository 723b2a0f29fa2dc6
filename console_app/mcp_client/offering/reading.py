"""Lists, reads and completes what a session has beside tools, in our words.

Lists are optional whatever a server advertises: one that it doesn't know is empty, one that fails is a problem of
that list alone.

Composes the message that is sent from a prompt as it was typed: `/server:prompt` is filled in by its server, and the
resources that `@server:uri` names are read and attached.

Nothing is sent half: what can't be read, or is too large, is an error, and the text stays with whoever typed it.
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

from console_app.domain import Attachment, FanoutError, UsageError, UserMessage, errors
from console_app.mcp_client.connecting import faults
from console_app.mcp_client.hub import Hub
from console_app.mcp_client.offering.offers import (
    Offers,
    PromptArgument,
    PromptMessage,
    Resource,
    ResourceContent,
    ResourceTemplate,
    ServerPrompt,
)
from console_app.mcp_client.offering.typed_names import Mention, command_of, mentions
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


MOST_RESOURCES = 20  # of a message
MOST_TEXT = 400_000  # characters of what is attached to a message: about 100,000 tokens


async def compose(hub: Hub, text: str) -> UserMessage:
    """The message that `text` means. Raises ServerError and UsageError; a text that names nothing is itself."""
    servers = hub.typed_servers()
    command = command_of(text)
    if command is not None and (server := servers.get(command[0].partition(":")[0])) is not None:
        await hub.listed(server)
        prompt = hub.typed_prompts().get(command[0])
        if prompt is None:
            raise errors.ServerError(
                f"{server} has no prompt {command[0].partition(':')[2]} now", "Ctrl+L shows the servers."
            )
        return await _filled_in(hub, prompt, command[1], text.strip())
    if "@" not in text:
        return UserMessage(content=text)
    named = mentions(text, servers, {(one.server, one.uri) for one in hub.resources()})
    return UserMessage(content=text, attachments=await _read_all(hub, named)) if named else UserMessage(content=text)


def names_something(hub: Hub, text: str) -> bool:
    """Return whether `compose` would ask a server."""
    servers = hub.typed_servers()
    command = command_of(text)
    if command is not None and command[0].partition(":")[0] in servers:
        return True
    return "@" in text and bool(mentions(text, servers, ()))


async def _filled_in(hub: Hub, prompt: ServerPrompt, rest: str, source: str) -> UserMessage:
    values = prompt.arguments_of(rest)
    if needed := prompt.missing(values):
        raise UsageError(f"the prompt {prompt.name} needs {', '.join(needed)}", f"Write {needed[0]}=VALUE.")
    messages = await hub.get_prompt(prompt, values)
    attachments = tuple(_attachment(prompt.server, content) for message in messages for content in message.contents)
    content = _as_one(messages)
    if not content.strip() and not attachments:
        raise errors.ServerError(f"{prompt.server}: the prompt {prompt.name} came back empty")
    _check_size(attachments, len(content))
    return UserMessage(content=content, attachments=attachments, source=source)


def _as_one(messages: Sequence[PromptMessage]) -> str:
    """Return the texts of a prompt's messages as one; where the server speaks in several voices, with their names."""
    texts = [message for message in messages if message.text.strip()]
    if all(message.role == "user" for message in texts):
        return "\n\n".join(message.text for message in texts)
    return "\n\n".join(f"{message.role.capitalize()}: {message.text}" for message in texts)


async def _read_all(hub: Hub, named: Sequence[Mention]) -> tuple[Attachment, ...]:
    if len(named) > MOST_RESOURCES:
        raise UsageError(f"a message can carry {MOST_RESOURCES} resources, and this names {len(named)}")
    try:
        async with asyncio.TaskGroup() as group:
            reading = [group.create_task(read_attachments(hub, one.server, one.uri)) for one in named]
    except* FanoutError as errors:
        raise _first(errors) from None
    attachments = tuple(one for task in reading for one in task.result())
    _check_size(attachments)
    return attachments


async def read_attachments(hub: Hub, server: str, uri: str) -> list[Attachment]:
    """Return a resource as it can be attached, a part each. Raises ServerError."""
    if not hub.offers_resource(server, uri):
        raise errors.ServerError(f"{server}: {uri} is switched off", "Ctrl+L switches it on.")
    contents = await hub.read_resource(server, uri)
    return [_attachment(server, content) for content in contents] or [Attachment(server=server, uri=uri)]


def _attachment(server: str, content: ResourceContent) -> Attachment:
    file = content.artifact
    return Attachment(
        server=server,
        uri=content.uri,
        name=file.name if file is not None else "",
        mime=content.mime or (file.mime if file is not None else ""),
        size=file.size if file is not None else len(content.text.encode("utf-8", "replace")),
        text=content.text,
        path=file.path if file is not None else "",
    )


def _check_size(attachments: Sequence[Attachment], more: int = 0) -> None:
    total = sum(len(one.text) for one in attachments) + more
    if total > MOST_TEXT:
        largest = max(attachments, key=lambda one: len(one.text), default=None)
        what = f"{largest.server}: {largest.uri or 'a part of the prompt'}" if largest is not None else "the prompt"
        raise errors.ServerError(
            f"{what} is too large to send: {total:,} characters, and a message carries {MOST_TEXT:,}",
            "Ask for a part of it, or for a tool that reads it.",
        )


def _first(errors: BaseExceptionGroup[FanoutError]) -> FanoutError:
    for error in errors.exceptions:
        return _first(error) if isinstance(error, BaseExceptionGroup) else error
    raise AssertionError("an empty group")
