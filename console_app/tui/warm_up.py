"""Import in a thread what the first table, approval, dialog or picker would else import on the event loop.

Nothing waits for it: it comes behind the first paint, the SDKs and the services. A test runs a console with a record of
its imports, and names each one that is missing here.
"""

from __future__ import annotations

import importlib
import threading

MODULES = (  # in the order in which a session is likely to need them
    "textual.scrollbar",
    "encodings.utf_16_le",  # a line with a sign beyond ASCII
    "encodings.utf_32_le",
    "console_app.tui.widgets.text_dialog",
    "console_app.tui.asking.consent",
    "console_app.tui.asking.arguments_editor",
    "console_app.tui.widgets.pick_list",
    "console_app.tui.asking.question_views",
    "console_app.tui.servers.screen",
    "console_app.tui.timeline.screen",
    "console_app.tui.main_screen.over.help",
    "console_app.tui.main_screen.dialogs",
    "console_app.tui.asking.form_dialogs",
    "console_app.tui.main_screen.over.copying",
    "console_app.tui.asking.permissions_screen",
    "console_app.tui.main_screen.over.settings_screen",
    "console_app.tui.sessions.browse",
    "console_app.tui.sessions.compare",
    "console_app.tui.main_screen.over.connect_screen",
    "console_app.tui.servers.resource_screen",
    "console_app.console.files.clipboard",
    "console_app.tui.servers.prompt_screen",
    "console_app.tui.servers.workbench",
    "console_app.tui.servers.wire_screen",
    "console_app.sessions.library",
    "console_app.sessions.repair",
    "console_app.sessions.export",
)


class WarmUp:
    """Runs these imports, for a thread; `stop` ends it before its next import."""

    def __init__(self) -> None:
        self._stopped = threading.Event()

    def stop(self) -> None:
        self._stopped.set()

    def run(self, more: tuple[str, ...] = ()) -> None:
        """Import everything; `more` are modules of other floors that only pickers need."""
        from console_app.tui.lineview import use_first

        for name in (*MODULES, *more):
            if self._stopped.is_set():
                return
            importlib.import_module(name)
        use_first(self._stopped.is_set)
