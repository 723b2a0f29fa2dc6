"""The built-in model that needs no key and no network: rules in place of understanding, and it says so."""

from __future__ import annotations

from console_app.providers.offline.provider import OfflineProvider

__all__ = ["OfflineProvider"]
