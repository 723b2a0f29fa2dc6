"""Finds what ships beside the code: in the wheel under `_bundled`, in a checkout at the root of the repository."""

from __future__ import annotations

from pathlib import Path

from console_app.domain import ConfigError

_PACKAGE = Path(__file__).parent


def themes_dir() -> Path:
    """The folder of the bundled palettes."""
    return _find("themes")


def bundled_mcp() -> Path:
    """The bundled mcp.json: the servers that ship with Fanout."""
    return _find("mcp.json")


def _find(name: str) -> Path:
    for root in (_PACKAGE / "_bundled", _PACKAGE.parent):
        if (root / name).exists():
            return root / name
    raise ConfigError(f"the installation lacks {name}", "Install Fanout again.")
