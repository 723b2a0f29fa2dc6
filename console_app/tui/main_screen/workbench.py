"""Gives the servers screen what opens servers and tools, once there is a conversation."""

from __future__ import annotations

from console_app.console import Services
from console_app.tui.main_screen.console_ui import ConsoleUi
from console_app.tui.main_screen.dialogs import Dialogs
from console_app.tui.servers.offers import ServerOffers
from console_app.tui.servers.workbench import Workbench


def equip(offers: ServerOffers, services: Services, ui: ConsoleUi, dialogs: Dialogs) -> None:
    """Without a hub, as in a replay, there is nothing to open."""
    if services.hub is not None and services.servers is not None:
        offers.bench = Workbench(
            services.hub,
            ui,
            statuses=services.servers.statuses,
            gate=services.engine.gate,
            calls=lambda: ui.shown.transcript.calls,
            run=dialogs.call,
            redact=services.redact,
            folder=services.working_folder,
            clock=services.clock,
        )
