"""The live bindings, by place, for the help screen: what your configuration changed shows as you changed it."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import App
from textual.binding import Binding, BindingsMap
from textual.widget import Widget

from console_app.tui.main_screen.help import KeySection
from console_app.tui.terminal.key_names import key_name
from console_app.tui.textual_internals import keymap_of, own_bindings

MANY = 5  # keys of one row, from which on only the first and the last are named


def key_sections(app: App[int], places: Sequence[tuple[str, Widget]]) -> list[KeySection]:
    """A section for each of `places`, widgets with keys of their own, and for the screens that have some."""
    sections = [_section(app, title, type(place), own_bindings(place)) for title, place in places]
    return sections + [_section(app, title, kind, BindingsMap(kind.BINDINGS)) for title, kind in _screens()]


def _screens() -> list[tuple[str, type[Widget]]]:
    """The screens with keys of their own; imported when help is asked for."""
    from console_app.tui.approvals.permissions_screen import PermissionsScreen
    from console_app.tui.forms.call_form import CallForm
    from console_app.tui.main_screen.settings_screen import SettingsScreen
    from console_app.tui.servers.resource_screen import ResourceScreen
    from console_app.tui.servers.screen import ServersScreen
    from console_app.tui.servers.wire_screen import WireScreen
    from console_app.tui.sessions.browse import SessionsScreen
    from console_app.tui.timeline.screen import TimelineScreen

    return [
        ("On the servers", ServersScreen),
        ("On a server's wire", WireScreen),
        ("On a resource", ResourceScreen),
        ("On the timeline", TimelineScreen),
        ("On a call's form", CallForm),
        ("In the sessions", SessionsScreen),
        ("In the permissions", PermissionsScreen),
        ("In the settings", SettingsScreen),
    ]


def _section(app: App[int], title: str, kind: type[Widget], bindings: BindingsMap) -> KeySection:
    """One row for what keys do, with all of them. Bindings without an id are Textual's own line editing."""
    bindings.apply_keymap(keymap_of(app))
    order = [binding.id for binding in kind.BINDINGS if isinstance(binding, Binding)]
    known = [binding for _, binding in bindings if binding.id and not binding.key.startswith("super+")]
    rows: dict[str, list[Binding]] = {}
    for binding in sorted(known, key=lambda one: order.index(one.id) if one.id in order else len(order)):
        rows.setdefault(binding.tooltip or binding.description, []).append(binding)
    ids = [list(dict.fromkeys(one.id or "" for one in bound)) for bound in rows.values()]
    return KeySection(title, [(_named(bound), what) for what, bound in rows.items()], ids)


def _named(bound: Sequence[Binding]) -> str:
    keys = [key_name(binding.key) for binding in bound]
    return " · ".join(keys) if len(keys) < MANY else f"{keys[0]} … {keys[-1]}"
