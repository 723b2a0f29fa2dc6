"""MCP servers as mcp.json and the user's picks say them."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console_app.config.servers.mcp_edit import ServerFile as ServerFile
    from console_app.config.servers.mcp_edit import Typed as Typed
    from console_app.config.servers.mcp_edit import command_problem as command_problem
    from console_app.config.servers.mcp_servers import ServerConfig as ServerConfig
    from console_app.config.servers.mcp_servers import load_mcp_config as load_mcp_config
    from console_app.config.servers.mcp_servers import read_mcp_config as read_mcp_config
    from console_app.config.servers.server_choice import Item as Item
    from console_app.config.servers.server_choice import Kind as Kind
    from console_app.config.servers.server_choice import Selection as Selection
    from console_app.config.servers.server_choice import ServerChoice as ServerChoice
    from console_app.config.servers.server_choice import choose_servers as choose_servers
    from console_app.config.servers.server_choice import keep_tool_names as keep_tool_names
else:
    from console_app.door import door

    __getattr__ = door(__name__, __file__)
