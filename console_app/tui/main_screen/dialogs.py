"""Opens the chat screen's dialogs and acts on their results. Each dialog is imported when it is first opened."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, ClassVar

from textual import events, on
from textual.app import App, ComposeResult, SuspendNotSupported
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widget import Widget
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from console_app.config.settings import OwnSettings
from console_app.console import Console, Models, files
from console_app.console.intents import Bound
from console_app.console.reports import call_text
from console_app.domain import ApprovalMode, Artifact, FanoutError, one_line
from console_app.domain.transcript import CallView, Transcript
from console_app.tui.prompt.commands import CommandLine
from console_app.tui.prompt.prompt import Prompt
from console_app.tui.servers.offers import ServerOffers
from console_app.tui.terminal.key_names import key_name
from console_app.tui.themes import LoadedTheme
from console_app.tui.ui import Ui
from console_app.tui.widgets.dialog import Dialog
from console_app.tui.widgets.pick_list import PickList, SearchedList


class Dialogs:
    """Opens the dialogs of one console. Every method waits for a dialog, and `Ui.open` has to run it."""

    def __init__(self, ui: Ui, console: Console, offers: ServerOffers, prompt: Callable[[], Prompt]) -> None:
        self._ui = ui
        self._console = console
        self._services = console.services
        self._offers = offers
        self._prompt = prompt

    async def help(self, commands: Sequence[Bound], places: Sequence[tuple[str, Widget]]) -> None:
        from console_app.tui.main_screen.over.help import HelpScreen, key_sections

        await self._ui.push(HelpScreen(key_sections(self._ui.app, places), commands))

    async def commands(self, commands: CommandLine, keys: Mapping[str, str]) -> None:
        choices = {
            f"/{one.name}": f"{key} · {one.about}" if (key := keys.get(one.name)) else one.about
            for one in (command.intent for command in commands)
            if not one.same_as
        }
        picked = await self._ui.push(PickList("Commands", choices, hint="Search for commands"))
        if picked is not None and (command := commands.get(picked.removeprefix("/"))) is not None:
            commands.run(command)

    async def connect(self) -> None:
        from console_app.tui.main_screen.over.connect_screen import ConnectScreen

        if self._services.connecting is None:
            self._ui.toast("No other model can answer here.")
        elif kept := await self._ui.push(ConnectScreen(self._services.connecting)):
            self._ui.changed()
            self._ui.tell("info", kept)

    async def theme(self, themes: Sequence[LoadedTheme], _console: Console, name: str) -> None:
        names = [theme.theme.name for theme in themes]
        if name and name not in names:
            self._ui.tell("error", f"There is no theme {one_line(name, 40)}. There are: {', '.join(names)}.")
            return
        picked = name or await self._ui.push(ThemePicker(themes, self._ui.app.theme))
        if picked is None:
            return
        self._ui.app.theme = picked
        if self._services.remember_theme is not None:
            try:
                await asyncio.to_thread(self._services.remember_theme, picked)
            except FanoutError as error:
                self._ui.tell("warning", error.line)

    async def settings(self, themes: Sequence[LoadedTheme], _console: Console, query: str) -> None:
        from console_app.tui.main_screen.over.settings_screen import SettingsScreen

        if (own := self._services.settings) is None:
            self._ui.toast("There are no settings to change in a replay.")
            return

        async def applied(name: str) -> str:
            later = await asyncio.to_thread(own.take_effect, name)
            if later == OwnSettings.NEXT_START:
                value = next((one.value for one in await asyncio.to_thread(own.read) if one.name == name), None)
                if value is not None and await self._use_setting(name, value):
                    later = ""
            self._ui.changed()
            return later

        def choices(name: str) -> Sequence[str]:
            return [theme.theme.name for theme in themes] if name == "theme" else ()

        await self._ui.push(SettingsScreen(own, applied, partial(edit, self._ui.app, suffix=".toml"), choices, query))

    async def _use_setting(self, name: str, value: object) -> bool:
        """Have a setting hold that is the console's. Return False for one that has to wait."""
        match name:
            case "theme":
                self._ui.app.theme = str(value)
            case "ui.motion":
                self._ui.app.use_motion(value is True)
            case "approval_mode":
                self._console.permissions.use_mode(ApprovalMode(str(value)))
            case "model":
                try:
                    await self._services.models.switch(str(value))
                except FanoutError:
                    return False
            case _:
                return False
        return True

    async def history(self) -> None:
        newest_first = dict.fromkeys(reversed(self._prompt().sent.entries), "")
        note = "" if newest_first else "no prompt was sent yet"
        picked = await self._ui.push(PickList("Prompt history", newest_first, note=note))
        if picked is not None:
            self._prompt().recall(picked)

    async def editor(self) -> None:
        """Open the prompt in your editor. The turn goes on meanwhile, with painting held back until you return."""
        try:
            self._ui.put(await edit(self._ui.app, self._prompt().expanded()))
        except FanoutError as error:
            self._ui.toast(error.line, seconds=10)

    async def servers(self, name: str) -> None:
        from console_app.tui.servers.screen import ServersScreen

        switches, clock = self._services.servers, self._services.clock
        if switches is None:
            self._ui.toast("There are no servers in a replay.")
            return
        if (files := self._console.server_files) is not None:
            self._ui.open_beside(files.look)  # the keys behind this one are for the dialog
        screen = ServersScreen(switches, clock, name, self._offers, self._services.engine.in_each_request)
        if await self._ui.push(screen):
            self._ui.changed()

    async def call(self, label: str, arguments: Mapping[str, Any] | None = None) -> bool:
        """Make calls by hand: a form for each, until they are sent; they run as a turn that asks no model. Return
        whether any was sent. The first form is filled in with `arguments`."""
        from console_app.tui.asking.form_dialogs import CallForm

        tools, path = self._services.engine.toolset.tools(), self._services.calls_path
        calls = await CallForm.fill_in(self._ui.app, tools, path, label, self._ui.toast, arguments)
        if calls:
            self._console.call_by_hand(" ".join(map(str, calls)))
        return bool(calls)

    async def timeline(
        self, transcript: Transcript, go_to: Callable[[CallView], None], at: CallView | None = None
    ) -> None:
        """Show a turn's calls in time, the selected one first; the one that is picked is gone to, or inspected too."""
        from console_app.tui.timeline.screen import TimelineScreen

        services = self._services
        redactor = services.library.redactor if services.library is not None else None
        chart = TimelineScreen(transcript, services.clock, services.working_folder, redactor, at)
        picked = await self._ui.push(chart)
        call = transcript.calls.get(picked[1]) if picked is not None else None
        if picked is None or call is None:
            return
        go_to(call)
        if picked[0] == "inspect":
            await self.inspect(call)

    async def inspect(self, call: CallView) -> None:
        exchange = self._services.exchange
        await self._ui.report(one_line(call.label, 60), lambda: call_text(call, exchange(call.id)), every=0.5)

    async def files(self, files: Sequence[Artifact], server: str) -> None:
        from console_app.tui.servers.resource_screen import ResourceScreen

        read = partial(self._offers.read, server) if server and self._services.hub is not None else None
        await ResourceScreen.choose_and_open(self._ui.app, files, self._ui.toast, read)

    async def edit_arguments(self, call: CallView, accept: str, use: Callable[[str, dict[str, Any]], None]) -> None:
        """Show a form for the arguments of a call; `use` gets its id and the new ones. `accept` says what that does. Of
        a call that ended the result can be changed in its place."""
        from console_app.tui.asking.arguments_editor import ArgumentsEditor

        engine, clock = self._services.engine, self._services.timing.now
        sessions, push = self._console.sessions, self._ui.push
        spec = next((spec for spec in engine.toolset.tools() if spec.name == call.name), None)
        editor = ArgumentsEditor.of(call, spec, engine.gate, accept=accept, clock=clock)
        if (edited := await push(editor)) is not None:
            use(call.id, edited)
        elif (
            editor.wants_result
            and await sessions.free_to_copy()
            and (changed := await push(ArgumentsEditor.of_result(call, clock)))
        ):
            await sessions.go_on_from(call.id, *changed.values())

    async def compare(self, name: str) -> None:
        from console_app.tui.sessions.compare import CompareScreen

        if (pair := await self._console.sessions.pair(name)) is not None:
            before, now = (pair.other.title, pair.before), (pair.this.title, pair.now)
            await self._ui.push(CompareScreen(before, now, pair.differences))


async def edit(app: App[int], text: str, *, suffix: str = ".md") -> str:
    """Return `text` as it was saved in the editor. Raises EditorError when there is none or it failed."""
    try:
        return await files.edited(text, _suspended(app), suffix=suffix)
    except SuspendNotSupported:
        raise files.EditorError("this terminal can't be handed over to it.") from None


@contextmanager
def _suspended(app: App[int]) -> Generator[None]:
    with app.batch_update(), app.suspend():
        yield


class ModelPicker(PickList):
    """The result is `PROVIDER/MODEL`. The list is asked for while the dialog is open already."""

    def __init__(self, models: Models) -> None:
        current = models.name
        super().__init__(
            "Model",
            {current: ""} if current else {},
            current=current,
            hint="type to search",
            note="Loading models…",
            free_text=True,
        )
        self._models = models
        self._listed = False
        self._wanted = ""  # typed and entered while the list was not there yet

    def on_mount(self) -> None:
        self.run_worker(self._ask, exclusive=True)

    async def _ask(self) -> None:
        note = "Not listed? Type provider/model"
        try:
            names = await self._models.known()
            if self._models.silent:
                first, *more = self._models.silent
                together = f"{first} and {len(more)} more" if more else first
                note = f"No list from {together}: /doctor says why"
        except FanoutError as error:
            names, note = [*filter(None, [self._models.name])], error.line
        self.offer(dict.fromkeys(names, ""), note)
        self._listed = True
        if self._wanted:
            self.dismiss(next(iter(SearchedList.best(self._wanted, names, 1)), self._wanted))

    def typed(self, text: str) -> None:
        """Wait for the list with a part of a name, so that it means a model that there is."""
        if self._listed or "/" in text:
            self.dismiss(text)
        else:
            self._wanted = text
            self.offer({}, f"taking the first model like {text} once they are listed · esc close")


class ThemePicker(PickList):
    """The result is a theme's name; the app already wears it."""

    def __init__(self, themes: Sequence[LoadedTheme], current: str) -> None:
        super().__init__(
            "Theme", {theme.theme.name: theme.about for theme in themes}, current=current, hint="type to search"
        )
        self._before = current

    def highlighted(self, name: str) -> None:
        if self.app.theme != name:
            self.app.theme = name

    def action_leave(self) -> None:
        self.app.theme = self._before
        super().action_leave()


class CallMenu(Dialog[str | None]):
    DEFAULT_CLASSES = "dialog -menu"
    AUTO_FOCUS = "OptionList"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", "close", id="menu.close")]

    def __init__(self, name: str, acts: Sequence[Binding]) -> None:
        super().__init__()
        self._call = name
        self._acts = acts

    def compose(self) -> ComposeResult:
        with self.box(self._call, "enter do it · esc close"):
            rows = (Content.styled(f"{key_name(act.key)}  ", "bold $primary") + act.description for act in self._acts)
            yield OptionList(*(Option(row) for row in rows), markup=False)

    def on_key(self, event: events.Key) -> None:
        if (act := next((one for one in self._acts if one.key == event.key), None)) is not None:
            event.stop()
            self.dismiss(act.action)

    @on(OptionList.OptionSelected)
    def _picked(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._acts[event.option_index].action)
