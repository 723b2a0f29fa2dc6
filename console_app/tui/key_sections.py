"""The live bindings, by place, for the help screen: what your configuration changed shows as you changed it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.binding import Binding, BindingsMap
from textual.widget import Widget

from console_app.tui.key_names import key_name
from console_app.tui.screens.help import KeySection

if TYPE_CHECKING:
    from console_app.tui.screens.chat import ChatScreen


def key_sections(screen: ChatScreen) -> list[KeySection]:
    """Sections for the prompt, the conversation, the approvals and everywhere."""
    places: list[tuple[str, Widget]] = [
        ("In the prompt", screen.prompt),
        ("Everywhere", screen),
        ("On a panel", screen.view),
        ("On the approvals", screen.board),
        ("On what a server asks", screen.human),
        ("On a question", screen.questions),
        ("On the to-do list", screen.todo),
    ]
    sections = [KeySection(title, _keys(screen, type(place), _own(place))) for title, place in places]
    return sections + [KeySection(title, _keys(screen, kind, BindingsMap(kind.BINDINGS))) for title, kind in _screens()]


def _screens() -> list[tuple[str, type[Widget]]]:
    """The screens with keys of their own; imported when help is asked for."""
    from console_app.tui.screens.call_form import CallForm
    from console_app.tui.screens.servers import ServersScreen
    from console_app.tui.screens.timeline import TimelineScreen

    return [("On the servers", ServersScreen), ("On the timeline", TimelineScreen), ("On a call's form", CallForm)]


def _own(place: Widget) -> BindingsMap:
    return place._bindings.copy()  # pyright: ignore[reportPrivateUsage]  (no public way to a widget's own)


def _keys(screen: ChatScreen, kind: type[Widget], bindings: BindingsMap) -> list[tuple[str, str]]:
    """One row a binding id: its keys, and what it does. Bindings without an id are Textual's own line editing."""
    bindings.apply_keymap(screen.app._keymap)  # pyright: ignore[reportPrivateUsage]
    rows: dict[str, tuple[list[str], Binding]] = {}
    for _key, binding in bindings:
        if binding.id and not binding.key.startswith("super+"):
            rows.setdefault(binding.id, ([], binding))[0].append(key_name(binding.key))
    order = [binding.id for binding in kind.BINDINGS if isinstance(binding, Binding)]
    in_order = sorted(rows, key=lambda id: order.index(id) if id in order else len(order))
    return [(" · ".join(rows[id][0]), rows[id][1].tooltip or rows[id][1].description) for id in in_order]
