"""What Enter does on a prompt or a resource in the servers screen: opened, it goes into the prompt from there."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from console_app.console.servers.watching import Watching
from console_app.domain.errors import FanoutError
from console_app.domain.safe_text import one_line
from console_app.mcp_client.hub import Hub
from console_app.mcp_client.offering.offers import PromptArgument, ResourceTemplate
from console_app.tui.forms.values_form import ValuesForm
from console_app.tui.servers.prompt_screen import PromptScreen
from console_app.tui.servers.prompts import proposals
from console_app.tui.servers.resource_screen import ResourceScreen
from console_app.tui.ui import Ui

if TYPE_CHECKING:
    from console_app.console.servers.switches import Offered


async def use(ui: Ui, hub: Hub, watching: Watching, item: Offered) -> bool:
    """Whether something of `item` is in the prompt now, for the dialog above it to close."""
    if item.kind == "prompt":
        return await _prompt(ui, hub, item)
    templates = {(one.server, one.uri_template): one for one in hub.templates()}
    template = templates.get((item.server, item.name))
    uri = item.name if template is None else await _filled_in(ui, hub, template)
    return uri is not None and await read(ui, hub, watching, item.server, uri, item.about)


async def read(ui: Ui, hub: Hub, watching: Watching, server: str, uri: str, about: str = "") -> bool:
    """Shows a resource; whether it is named in the prompt now."""
    picked = await ui.push(ResourceScreen(hub, watching, server, uri, about))
    if picked != "attach":
        return False
    before = ui.written
    gap = " " if before and not before[-1].isspace() else ""
    ui.put(f"{before}{gap}{hub.mention(server, uri)} ")
    return True


async def _prompt(ui: Ui, hub: Hub, item: Offered) -> bool:
    for typed, prompt in hub.typed_prompts().items():
        if (prompt.server, prompt.name) == (item.server, item.name):
            command = await ui.push(PromptScreen(hub, typed, prompt))
            if command is not None:
                ui.put(command)
            return command is not None
    return False


async def _filled_in(ui: Ui, hub: Hub, template: ResourceTemplate) -> str | None:
    """The URI of a template, from a form with its names."""
    if not template.variables:
        ui.toast(f"{one_line(template.uri_template, 80)} can't be read as a template.")
        return None
    fields = [PromptArgument(name) for name in template.variables]
    form = ValuesForm(
        template.uri_template, template.description or template.name, fields, {}, partial(proposals, hub, template)
    )
    values = await ui.push(form)
    if values is None:
        return None
    try:
        return template.expand(values)
    except FanoutError as error:
        ui.toast(error.line)
        return None
