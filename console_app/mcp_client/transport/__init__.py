"""The transport of MCP messages: over the pipes of a program that is ended with all its children, or over HTTP."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console_app.mcp_client.transport.cutting import cut_of as cut_of
    from console_app.mcp_client.transport.http import SENT_BY as SENT_BY
    from console_app.mcp_client.transport.http import HttpConversation as HttpConversation
    from console_app.mcp_client.transport.http import Send as Send
    from console_app.mcp_client.transport.http import refused as refused
    from console_app.mcp_client.transport.http import seconds_to_wait as seconds_to_wait
    from console_app.mcp_client.transport.lines import LARGEST_LINE as LARGEST_LINE
    from console_app.mcp_client.transport.process import Guard as Guard
    from console_app.mcp_client.transport.process import Log as Log
    from console_app.mcp_client.transport.process import Program as Program
    from console_app.mcp_client.transport.process import ServerProcess as ServerProcess
    from console_app.mcp_client.transport.process import to_the_end as to_the_end
    from console_app.mcp_client.transport.stdio import StdioConversation as StdioConversation
    from console_app.mcp_client.transport.wire_message import MessagesIn as MessagesIn
    from console_app.mcp_client.transport.wire_message import MessagesOut as MessagesOut
    from console_app.mcp_client.transport.wire_message import Streams as Streams
    from console_app.mcp_client.transport.wire_message import WireMessage as WireMessage
else:
    from console_app.door import door

    __getattr__ = door(__name__, __file__)
