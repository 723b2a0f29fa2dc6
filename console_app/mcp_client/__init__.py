"""The MCP client: servers from mcp.json, each held by one owner task, together one set of tools."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console_app.mcp_client.connecting.asking import Asking as Asking
    from console_app.mcp_client.connecting.sdk import preload as preload
    from console_app.mcp_client.connecting.status import LeftOut as LeftOut
    from console_app.mcp_client.connecting.status import ServerState as ServerState
    from console_app.mcp_client.connecting.status import ServerStatus as ServerStatus
    from console_app.mcp_client.hub import Hub as Hub
    from console_app.mcp_client.hub import HubSwitch as HubSwitch
    from console_app.mcp_client.offering.composing import Composer as Composer
    from console_app.mcp_client.offering.offers import PromptArgument as PromptArgument
    from console_app.mcp_client.offering.offers import PromptMessage as PromptMessage
    from console_app.mcp_client.offering.offers import Resource as Resource
    from console_app.mcp_client.offering.offers import ResourceTemplate as ResourceTemplate
    from console_app.mcp_client.offering.offers import ServerPrompt as ServerPrompt
    from console_app.mcp_client.registry import fetched as fetched
    from console_app.mcp_client.registry import find_servers as find_servers
    from console_app.mcp_client.traffic import RawMessage as RawMessage
    from console_app.mcp_client.traffic import Traffic as Traffic
else:
    from console_app.door import door

    __getattr__ = door(__name__, __file__)
