"""Imports what needs the MCP SDK (0.7 s), from one thread at a time.

The SDK's packages import each other in circles: two threads that enter such a circle at different places are a
deadlock, which Python ends by failing one of the imports. So everybody loads it here, and enters it at its root.
"""

from __future__ import annotations

import asyncio
import importlib
import threading
from contextlib import suppress
from types import ModuleType

_one_at_a_time = threading.Lock()
# Requests whose models name what is defined behind them, so that pydantic would finish them with the first call.
_UNFINISHED = ("CallToolRequest", "ReadResourceRequest", "GetPromptRequest")
_ROOTS = (
    "anyio",
    "httpx2",
    "mcp",
)  # the first two are shared with the providers' SDKs, which another thread may import


def preload() -> None:
    """Import the SDK and all of ours that needs it; meant for a thread, after the first paint.

    Where a file can't be opened now, as servers that start have all descriptors, whoever needs it imports it then.
    """
    with suppress(OSError):
        _preload()


def _preload() -> None:
    for name in ("connecting.session", "transport.stdio", "transport.http", "auth.oauth"):
        _import(name)
    with _one_at_a_time:
        importlib.import_module("jsonschema")  # 0.1 s that the first listing would take
        types = importlib.import_module("mcp_types")
        for name in _UNFINISHED:
            getattr(types, name).model_rebuild()


async def load(name: str) -> ModuleType:
    """Return the module `name` of this package, imported in a thread, so that the console answers keys meanwhile."""
    return await asyncio.to_thread(_import, name)


def _import(name: str) -> ModuleType:
    with _one_at_a_time:
        for root in _ROOTS:
            importlib.import_module(root)
        return importlib.import_module(f"console_app.mcp_client.{name}")
