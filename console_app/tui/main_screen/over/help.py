"""The live bindings, by place, for the help screen: what your configuration changed shows as you changed it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from rich.cells import cell_len
from textual import on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingsMap, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, Static

from console_app.console.intents import Bound
from console_app.records import dataclass
from console_app.tui.lineview.lines import Line
from console_app.tui.terminal.key_names import key_name
from console_app.tui.textual_internals import keymap_of, own_bindings
from console_app.tui.widgets.dialog import Dialog

MOST_KEYS = 24  # cells of the keys, beyond which what they do stands below
BESIDE = 96  # cells from which on there are two columns
APART = 3  # cells between them
AROUND = 6  # lines of the dialog and of the screen that are none of the text


@dataclass(frozen=True, slots=True)
class KeySection:
    """The keys of one place: (keys, what they do) in the order of the bindings."""

    title: str
    keys: Sequence[tuple[str, str]]
    ids: Sequence[Sequence[str]] = ()  # of each row, by which `[keys]` binds it anew


CARD = (
    ("prompt.send", "send; on a call: what can be done with it"),
    ("chat.stop", "stop, or go back"),
    ("prompt.older", "to the calls, from an empty prompt"),
    ("prompt.leave", "to what needs you"),
    ("panel.toggle", "open a call, or fold it"),
    ("panel.cancel", "stop a call"),
    ("board.once", "run the call that waits"),
    ("board.deny", "don't run it"),
    ("app.commands", "commands, as / in the prompt"),
    ("chat.help", "this card, as ? in an empty prompt"),
)  # the keys that most need, by the ids of their bindings


class HelpScreen(Dialog[None]):
    """Shows a card of ten keys over the screen that they are for; typing finds all other keys and the commands."""

    AUTO_FOCUS = "Input"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,f1", "dismiss(None)", "close", id="help.close"),
        Binding("down", "scroll(1)", "down", id="help.down", show=False, priority=True),
        Binding("up", "scroll(-1)", "up", id="help.up", show=False, priority=True),
        Binding("pagedown", "scroll(10)", "page down", id="help.page_down", show=False, priority=True),
        Binding("pageup", "scroll(-10)", "page up", id="help.page_up", show=False, priority=True),
    ]

    def __init__(self, sections: Sequence[KeySection], commands: Iterable[Bound]) -> None:
        super().__init__()
        named_keys = {
            id: keys for one in sections for (keys, _), ids in zip(one.keys, one.ids, strict=False) for id in ids
        }
        self._card = KeySection("Ten keys", [(named_keys[id], does) for id, does in CARD if id in named_keys])
        written = [
            (f"/{one.name} {one.argument}".rstrip(), one.about) for one in (command.intent for command in commands)
        ]
        named = [
            ("/server:prompt", "a prompt of a server, with its arguments as words or name=value"),
            ("@path", 'attaches a file, picture or folder; @"a name.txt", lines as @path:10-40'),
            ("@server:uri", "attaches a resource of a server"),
        ]
        self._sections = [*sections, KeySection("Commands", [*written, *named])]

    def compose(self) -> ComposeResult:
        with self.box("Help", "↑↓ scroll · esc close"):
            yield Input(placeholder="Type to filter all other keys and commands")
            with VerticalScroll(can_focus=False) as scroll:
                scroll.styles.scrollbar_gutter = "stable"  # else the bar takes from the width that lines were made for
                yield Static()

    def on_resize(self) -> None:
        self.call_after_refresh(self._show)

    @on(Input.Changed)
    def _show(self) -> None:
        width, wanted = self.query_one(VerticalScroll).scrollable_content_region.width, self.query_one(Input).value
        if width:
            lines = help_lines(self._sections, wanted, width) if wanted else _section(self._card, width)[1:]
            tall = bool(wanted) or len(lines) + AROUND > self.size.height  # what has no room is scrolled to
            self.set_class(tall, "-tall")
            self.query_one(VerticalScroll).styles.height = "1fr" if tall else "auto"
            self.query_one(Static).update(Content("\n").join(lines))

    def action_scroll(self, lines: int) -> None:
        self.query_one(VerticalScroll).scroll_relative(y=lines, animate=False)


def help_lines(sections: Sequence[KeySection], wanted: str, width: int) -> list[Content]:
    """Return the rows whose keys or words hold the typed words, in two columns where there is room."""
    words = wanted.lower().split()
    found = [
        KeySection(section.title, [row for row in section.keys if all(word in " ".join(row).lower() for word in words)])
        for section in sections
    ]
    found = [section for section in found if section.keys]
    if not found:
        return [Content.styled("Nothing here is called that.", "$muted").truncate(width, ellipsis=True)]
    if width < BESIDE:
        return [line for section in found for line in _section(section, width)]
    cells = (width - APART) // 2
    left = [line for section in found for line in _section(section, cells)]
    right: list[Content] = []
    while len(found) > 1 and (moved := _section(found[-1], cells)) and len(left) - len(moved) >= len(right):
        left, right = left[: -len(moved)], [*moved, *right]
        found.pop()
    rows = max(len(left), len(right))
    left += [Content("")] * (rows - len(left))
    right += [Content("")] * (rows - len(right))
    return [
        one + Content(" " * (cells + APART - one.cell_length)) + other for one, other in zip(left, right, strict=True)
    ]


def _section(section: KeySection, width: int) -> list[Content]:
    room = min(max(cell_len(keys) for keys, _ in section.keys), MOST_KEYS, width // 2)
    lines = [Content.styled(section.title, "bold $primary")]
    for keys, what in section.keys:
        words = " ".join(what.split())
        said = Line.wrap_text(words, max(width - room - 4, 8))
        head = Content.styled(f"  {keys}", "bold $foreground")
        if cell_len(keys) > room:
            lines.append(head.truncate(width, ellipsis=True))
        else:
            lines.append(head + Content.styled(" " * (room - cell_len(keys) + 2) + said.pop(0), "$muted"))
        lines += [Content.styled(" " * (room + 4) + line, "$muted") for line in said]
    return [*lines, Content("")]


MANY = 5  # keys of one row, from which on only the first and the last are named


def key_sections(app: App[int], places: Sequence[tuple[str, Widget]]) -> list[KeySection]:
    from console_app.tui.asking.form_dialogs import CallForm
    from console_app.tui.asking.permissions_screen import PermissionsScreen
    from console_app.tui.main_screen.over.settings_screen import SettingsScreen
    from console_app.tui.servers.screen import ServersScreen
    from console_app.tui.sessions.browse import SessionsScreen
    from console_app.tui.timeline.screen import TimelineScreen

    screens = (
        *ServersScreen.all(),
        ("On the timeline", TimelineScreen),
        ("On a call's form", CallForm),
        ("In the sessions", SessionsScreen),
        ("In the permissions", PermissionsScreen),
        ("In the settings", SettingsScreen),
    )
    sections = [_bindings_section(app, title, type(place), own_bindings(place)) for title, place in places]
    return sections + [_bindings_section(app, title, kind, BindingsMap(kind.BINDINGS)) for title, kind in screens]


def _bindings_section(app: App[int], title: str, kind: type[Widget], bindings: BindingsMap) -> KeySection:
    """Return a row for each thing that keys do, with all its keys. Bindings without an id are for line editing."""
    bindings.apply_keymap(keymap_of(app))
    order = [binding.id for binding in kind.BINDINGS if isinstance(binding, Binding)]
    known = [binding for _, binding in bindings if binding.id and not binding.key.startswith("super+")]
    rows: dict[str, list[Binding]] = {}
    for binding in sorted(known, key=lambda one: order.index(one.id) if one.id in order else len(order)):
        rows.setdefault(binding.tooltip or binding.description, []).append(binding)
    ids = [list(dict.fromkeys(one.id or "" for one in bound)) for bound in rows.values()]
    keys = {what: [key_name(one.key) for one in bound] for what, bound in rows.items()}
    named = [(" · ".join(ks) if len(ks) < MANY else f"{ks[0]} … {ks[-1]}", what) for what, ks in keys.items()]
    return KeySection(title, named, ids)
