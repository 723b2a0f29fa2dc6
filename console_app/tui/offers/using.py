"""What Enter does on a prompt or a resource in the servers screen: it is read, or goes into the prompt to be sent."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from console_app.domain.errors import FanoutError
from console_app.domain.safe_text import one_line
from console_app.mcp_client.hub import Hub
from console_app.mcp_client.offers import PromptArgument, ResourceTemplate
from console_app.mcp_client.uri_templates import expand
from console_app.tui.offers.prompts import proposals
from console_app.tui.screens.resource import ResourceScreen
from console_app.tui.screens.values_form import ValuesForm

if TYPE_CHECKING:
    from console_app.tui.offers.desk import ServerOffers
    from console_app.tui.screens.chat import ChatScreen
    from console_app.tui.servers.desk import Offered


async def use(screen: ChatScreen, offers: ServerOffers, item: Offered) -> bool:
    """Whether something of `item` is in the prompt now, for the dialog above it to close."""
    hub = screen.services.hub
    if hub is None:
        return False
    if item.kind == "prompt":
        return _prompt(screen, hub, item)
    templates = {(one.server, one.uri_template): one for one in hub.templates()}
    template = templates.get((item.server, item.name))
    uri = item.name if template is None else await _filled_in(screen, hub, template)
    return uri is not None and await read(screen, offers, item.server, uri, item.about)


async def read(screen: ChatScreen, offers: ServerOffers, server: str, uri: str, about: str = "") -> bool:
    """Shows a resource; whether it is named in the prompt now."""
    hub = screen.services.hub
    assert hub is not None
    picked = await screen.app.push_screen_wait(ResourceScreen(hub, offers.watching, server, uri, about))
    if picked != "attach":
        return False
    before = screen.prompt.text
    gap = " " if before and not before[-1].isspace() else ""
    screen.prompt.put(f"{before}{gap}{hub.mention(server, uri)} ")
    return True


def _prompt(screen: ChatScreen, hub: Hub, item: Offered) -> bool:
    for typed, prompt in hub.typed_prompts().items():
        if (prompt.server, prompt.name) == (item.server, item.name):
            screen.prompt.put(f"/{typed} ")
            return True
    return False


async def _filled_in(screen: ChatScreen, hub: Hub, template: ResourceTemplate) -> str | None:
    """The URI of a template, from a form with its names."""
    if not template.variables:
        screen.toast(f"{one_line(template.uri_template, 80)} can't be read as a template.")
        return None
    fields = [PromptArgument(name) for name in template.variables]
    form = ValuesForm(
        template.uri_template, template.description or template.name, fields, {}, partial(proposals, hub, template)
    )
    values = await screen.app.push_screen_wait(form)
    if values is None:
        return None
    try:
        return expand(template, values)
    except FanoutError as error:
        screen.toast(error.line)
        return None
