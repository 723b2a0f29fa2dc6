"""Hold the code that relies on what Textual doesn't promise; `tests/program/textual_internals.py` has the reasons."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from textual._xterm_parser import XTermParser as XTermParser
from textual.app import App
from textual.screen import Screen
from textual.widget import Widget

if TYPE_CHECKING:
    from textual.binding import BindingsMap
    from textual.driver import Driver
    from textual.strip import Strip


class TimedScreen(Screen[None]):
    def paint_now(self, widget: Widget) -> None:
        """Bring what a widget shows to the terminal, without waiting for Textual's own timer or for other widgets."""
        others, self._dirty_widgets = self._dirty_widgets, {widget}
        self._on_timer_update()
        self._dirty_widgets |= others
        self.check_idle()

    def paint_all_now(self) -> None:
        """Bring all that has changed to the terminal, up to a sixtieth of a second before Textual's timer would."""
        self._on_timer_update()

    def frame_took(self, seconds: float, painted: set[Widget]) -> None:
        """Told after each frame what Textual's own part of it took the processor."""

    def gives_way(self) -> bool:
        """Tell whether frames wait, for Textual's next time, since something is more urgent."""
        return False

    def _on_timer_update(self) -> None:
        if self.gives_way():
            return
        painted, begun = set(self._dirty_widgets), time.thread_time()
        super()._on_timer_update()
        self.frame_took(time.thread_time() - begun, painted)


def end_by_error(app: App[Any], error: Exception) -> bool:
    """End the app as Textual's `_handle_exception` does, without the traceback. Tell whether it was the first error."""
    app._return_code = 1
    first = app._exception is None
    if first:
        app._exception = error
        app._exception_event.set()  # pyright: ignore[reportUnknownMemberType]
    app._close_messages_no_wait()
    return first


def end_work(screen: Screen[Any]) -> None:
    """Cancel its workers and those of its widgets. Textual does so once the widgets that they look for are gone."""
    for node in screen.walk_children(with_self=True):
        screen.workers.cancel_node(node)  # pyright: ignore[reportUnknownMemberType]


def driver_of(app: App[Any]) -> Driver | None:
    """Return the driver; None before the app has run."""
    return app._driver


def keymap_of(app: App[Any]) -> dict[str, str]:
    """Return keys by the id of the binding, as `set_keymap` was given them."""
    return dict(app._keymap)


def forget_toasts(app: App[Any], text: str) -> None:
    """Take away, when the next toast comes, those that say just this or have the same words before the first colon. A
    warning or an error goes only for the same text."""
    topic = text.partition(": ")[0] + ": " if ": " in text else None
    for notification in [
        one
        for one in app._notifications
        if one.message == text or (topic and one.severity == "information" and one.message.startswith(topic))
    ]:
        app._unnotify(notification, refresh=False)


def own_bindings(widget: Widget) -> BindingsMap:
    """Return a copy of the bindings of a widget and its classes, without those of the screen and the app."""
    return widget._bindings.copy()


def lines_of(screen: Screen[Any]) -> list[Strip]:
    """Paint now, call what waits for that, and return the lines of the screen."""
    screen._on_timer_update()
    return screen._compositor.render_strips()


def typed_app() -> type[App[int]]:
    """Return the app as screens and widgets see it: to the type checker, `app` of a widget has an unknown result."""
    return App
