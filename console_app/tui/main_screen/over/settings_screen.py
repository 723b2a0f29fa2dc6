"""Show settings (/config): each with its value, who set it and what it means. A change goes into the user's own
file."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from console_app.config.settings import BrokenSettings, OwnSettings, Setting
from console_app.domain import FanoutError, one_line
from console_app.tui.widgets.dialog import Dialog
from console_app.tui.widgets.pick_list import PickList, SearchedList

T = TypeVar("T")
NAME, SOURCE = 19, 13  # cells of the columns
WIDE = 96  # cells from which on the meaning stands in the row
UNSET = "not set"
KEYS = "enter change · del default · f4 edit the file · esc close"
WRITING = "enter save · esc cancel"


class SettingsScreen(Dialog[None], sheets=("settings.tcss",)):
    """Shows all settings of `own`. `applied` is awaited with each that was changed and gives when it holds, "" for now;
    `edit` opens a text in the user's editor."""

    DEFAULT_CLASSES = "dialog -tall"
    AUTO_FOCUS = "#filter"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave('close')", "close", id="settings.close"),
        Binding("escape", "leave('cancel')", "cancel", id="settings.close"),
        *SearchedList.keys("settings"),
        Binding("enter", "change", "change", id="settings.change", priority=True),
        Binding("delete,ctrl+d", "unset", "back to the default", id="settings.unset", priority=True),
        Binding("f4", "edit", "edit the file", id="settings.edit", priority=True),
    ]

    def __init__(
        self,
        own: OwnSettings,
        applied: Callable[[str], Awaitable[str]],
        edit: Callable[[str], Awaitable[str]],
        choices: Callable[[str], Sequence[str]] = lambda _: (),
        query: str = "",
    ) -> None:
        """`choices` gives what else a setting of text may be, as the names of themes."""
        super().__init__()
        self._own = own
        self._applied = applied
        self._edit = edit
        self._choices = choices
        self._query = query
        self._all: Sequence[Setting] = ()
        self._shown: list[Setting] = []
        self._noted = ""  # the setting that the note is about
        self._not_kept: dict[Path, str] = {}  # what was written in the editor and can't be: it goes on from there

    def compose(self) -> ComposeResult:
        with self.box("Settings", KEYS):
            yield Input(self._query, placeholder="type to search", id="filter")
            yield SearchedList()
            yield Input(id="value")
            yield Static(classes="dialog--note")

    def on_mount(self) -> None:
        self.run_worker(self._read)

    def on_resize(self) -> None:
        if self.query(OptionList):  # else it is the first size, before there is anything
            self._fill()

    @property
    def _setting(self) -> Setting | None:
        at = self.query_one(OptionList).highlighted
        return self._shown[at] if at is not None and at < len(self._shown) else None

    @property
    def _changing(self) -> bool:
        return self.has_class("-changing")

    # -- keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Name Escape after what it does: it cancels a change first."""
        return action != "leave" or parameters[0] == ("cancel" if self._changing else "close")

    def action_leave(self, _what: str = "") -> None:
        if self._changing:
            self._stop_changing()
        else:
            self.dismiss(None)

    def action_move(self, delta: int) -> None:
        if not self._changing:
            self.query_one(SearchedList).move(delta)

    @on(OptionList.OptionSelected)
    def action_change(self) -> None:
        """Turn, pick, or have the user write a value; in the field the value is taken."""
        setting = self._setting
        if self._changing:
            self.run_worker(partial(self._write, self.query_one("#value", Input).value), group="write")
        elif setting is None:
            pass
        elif setting.kind == "bool":
            self.run_worker(partial(self._write, "false" if setting.value else "true"), group="write")
        elif setting.kind == "table":
            self._note(f"{setting.name} is a table: f4 opens the file it is in.")
        elif choices := setting.choices or self._choices(setting.name):
            self.run_worker(
                partial(self._pick, setting, [*([UNSET] if setting.optional else []), *choices]), group="write"
            )
        else:
            self._write_in_field(setting)

    def action_unset(self) -> None:
        """Take a setting out of the user's file; in the field Del deletes."""
        if self._changing:
            self.query_one("#value", Input).action_delete_right()
        elif (setting := self._setting) is not None:
            self.run_worker(partial(self._remove, setting), group="write")

    def action_edit(self) -> None:
        if not self._changing:
            self.run_worker(self._edit_file, group="write")

    @on(Input.Changed, "#filter")
    def _typed(self) -> None:
        self._fill(first=True)

    @on(OptionList.OptionHighlighted)
    def _moved(self) -> None:
        setting = self._setting
        if not self._changing and setting is not None and setting.name != self._noted:
            self._explain(setting)  # else what is said of it stays, as the list is only drawn again

    # -- changing

    def _write_in_field(self, setting: Setting) -> None:
        field = self.query_one("#value", Input)
        field.value = "" if setting.value is None else setting.shown
        if setting.kind == "list":
            field.value = ", ".join(map(str, setting.value or ()))
        field.placeholder = f"{setting.name}: {'names with commas between' if setting.kind == 'list' else setting.kind}"
        self.add_class("-changing")
        self.name_keys(WRITING)
        field.focus()
        self._note(f"{setting.name}: {setting.meaning}.")

    def _stop_changing(self) -> None:
        self.remove_class("-changing")
        self.name_keys(KEYS)
        self.query_one("#filter", Input).focus()
        if (setting := self._setting) is not None:
            self._explain(setting)

    async def _pick(self, setting: Setting, options: Sequence[str]) -> None:
        picked = await self.app.push_screen_wait(
            PickList(setting.name, dict.fromkeys(options, ""), current=setting.shown, note=setting.meaning)
        )
        if picked == UNSET and setting.optional:
            await self._remove(setting)
        elif picked is not None:
            await self._write(picked)

    async def _write(self, text: str) -> None:
        if (setting := self._setting) is None:
            return
        if not text.strip() and setting.optional:
            await self._remove(setting)
            return
        await self._change(setting.name, partial(self._own.write, setting.name, text))

    async def _remove(self, setting: Setting) -> None:
        await self._change(setting.name, partial(self._own.remove, setting.name))

    async def _change(self, name: str, act: Callable[[], bool | None]) -> None:
        """`act` changes the file, and gives False where there was nothing to change."""

        async def work() -> str | None:
            return None if await asyncio.to_thread(act) is False else await self._applied(name)

        try:
            when = await self._outlasting(name, work)
        except FanoutError as error:
            self._wrong(error)
            return
        if when is None:
            self._stop_changing()
            self._note(f"Your file does not set {name}.")
            return
        await self._read()
        self._stop_changing()
        shown = next((one.shown for one in self._all if one.name == name), "")
        self._note(f"{name}: {one_line(shown, 60)}. {when or 'It holds from now on.'}")

    async def _edit_file(self) -> None:
        old = {one.name: one.value for one in self._all}
        path = await asyncio.to_thread(self._own.to_edit)
        after = ""

        async def work() -> str:
            if wrong := await asyncio.to_thread(self._own.replace, path, f"{after}\n"):
                return f"Kept. Still wrong: {wrong} · f4 opens it"
            now = {one.name: one.value for one in await asyncio.to_thread(self._own.read)}
            if not old:
                return f"Kept. {OwnSettings.NEXT_START}"  # what held before was never read here
            changed = [name for name, value in now.items() if value != old.get(name)]
            later = [name for name in changed if await self._applied(name)]
            return f"Kept. From the next start on: {', '.join(later)}." if later else "Kept. It holds from now on."

        try:
            before = await asyncio.to_thread(self._own.text, path)
            after = await self._edit(self._not_kept.get(path, before))
            if after.strip() == before.strip():
                self._note("Nothing was changed.")
                return
            said = await self._outlasting(path.name, work)
        except FanoutError as error:
            if after:
                self._not_kept[path] = after
            self._note(f"Not kept. {error.detail} · f4 goes on with what you wrote", wrong=True)
            return
        self._not_kept.pop(path, None)
        await self._read()
        self._note(said)

    async def _outlasting(self, about: str, work: Callable[[], Awaitable[T]]) -> T:
        """Return the result of `work`, which the app runs: it takes effect although this screen is closed. Whatever
        there is to say of it then is a toast `about` it."""
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()

        async def run() -> None:
            try:
                result = await work()
            except FanoutError as error:
                if done.cancelled():
                    self.app.notify(error.line, severity="error", markup=False)
                else:
                    done.set_exception(error)
            else:
                if not done.cancelled():
                    done.set_result(result)
                elif result:
                    self.app.notify(f"{about}: {one_line(str(result), 400)}", severity="warning", markup=False)

        self.app.run_worker(run, name="settings")
        return await done

    # -- what is seen

    async def _read(self) -> None:
        try:
            self._all = await asyncio.to_thread(self._own.read)
        except FanoutError as error:
            self._fill()
            self._wrong(error)
        else:
            self._fill()

    def _fill(self, *, first: bool = False) -> None:
        words = self.query_one("#filter", Input).value.lower().split()
        before = self._setting
        self._shown = [
            one for one in self._all if all(word in f"{one.name} {one.meaning} {one.source}".lower() for word in words)
        ]
        options = self.query_one(OptionList)
        at = 0 if first or before is None else next((n for n, s in enumerate(self._shown) if s.name == before.name), 0)
        width = max(options.size.width - 4, 40)
        source = max((len(_source(one)) for one in self._all), default=0)
        options.set_options(Option(_row(one, width, source)) for one in self._shown)
        if self._shown:
            options.highlighted = at
        elif self._all:
            self._note("Nothing is called that.")

    def _explain(self, setting: Setting) -> None:
        text = setting.meaning
        if setting.source != "default":
            text += f" · set by {setting.source}"
            if setting.source != str(self._own.path):
                text += ", which outranks your file"
        if setting.waiting:
            text += f" · this project, not trusted, would set {one_line(setting.waiting, 40)}"
        self._note(text)

    def _wrong(self, error: FanoutError) -> None:
        opens = " · f4 opens it"
        self._note(f"{error.detail}{opens}" if isinstance(error, BrokenSettings) else error.line, wrong=True)

    def _note(self, text: str, *, wrong: bool = False) -> None:
        self._noted = self._setting.name if self._setting is not None else ""
        text = one_line(text, 400)
        self.query_one(".dialog--note", Static).update(Content.styled(text, "$error" if wrong else "$muted"))


def _row(setting: Setting, width: int, sources: int) -> Content:
    """Write name, value and who set it, which takes at most `sources` cells; the meaning where there is room."""
    about = width >= WIDE
    room = 22 if about else max(width - NAME - sources - 4, 10)
    value = one_line(setting.shown, room)
    style = "$foreground" if setting.source != "default" else "$muted"
    source = _source(setting)
    row = Content(f"{setting.name:<{NAME}}  ") + Content.styled(f"{value:<{room}}", style)
    row += Content.styled(f"  {source:<{SOURCE if about else 0}}", "$warning" if setting.waiting else "$muted")
    if about:
        row += Content.styled(f"  {one_line(setting.meaning, max(width - NAME - SOURCE - room - 6, 10))}", "$muted")
    return row


def _source(setting: Setting) -> str:
    known = {"default": "default", "the command line": "flag", "the environment": "environment"}
    ours = setting.source.endswith((".fanout/config.toml", ".fanout\\config.toml"))
    who = known.get(setting.source, "project" if ours else "your file")
    return f"{who}{' !' if setting.waiting else ''}"
