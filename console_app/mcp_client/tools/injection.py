"""Arguments that a tool names and only Fanout fills in: who asks (`_atlas_user`), and what there is (`_mcp_data`).

They come from the setting `injected`. A model neither sees nor sets them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from console_app.domain.schema import properties, without_members
from console_app.domain.tools import INJECTED, ToolSpec
from console_app.mcp_client.connecting.status import ServerStatus


def hidden(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without them, as a model gets it."""
    names = named(schema)
    return without_members(schema, names) if names else schema


def named(schema: Mapping[str, Any]) -> frozenset[str]:
    """Which of them a schema names."""
    return INJECTED & properties(schema).keys()


def filled_in(
    schema: Mapping[str, Any], arguments: Mapping[str, Any], settings: Mapping[str, Any], catalogue: dict[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """The arguments with what the settings have for the names in `schema`, and the names that were filled in.

    `catalogue` stands for a `_mcp_data` that is set to true.
    """
    own = {name: value for name, value in arguments.items() if name not in INJECTED}
    there = sorted(name for name in named(schema) if settings.get(name) is not None)
    for name in there:
        own[name] = catalogue if name == "_mcp_data" and settings[name] is True else settings[name]
    return own, there


def catalogue_of(statuses: Sequence[ServerStatus], specs: Sequence[ToolSpec]) -> dict[str, Any]:
    """The servers and tools that are on, in Atlas's shape."""
    servers: list[dict[str, Any]] = []
    for status in statuses:
        tools = [
            {"name": spec.tool, "description": spec.description, "parameters": spec.input_schema}
            for spec in specs
            if spec.server == status.name
        ]
        if tools:
            servers.append({"server_name": status.name, "description": status.description, "tools": tools})
    return {"available_servers": servers}
