"""Opens the chat screen's dialogs and acts on their results. Each dialog is imported when it is first opened."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from console_app.config.own_settings import NEXT_START
from console_app.console.reports.call_text import call_text
from console_app.console.services import Services
from console_app.console.talk.by_hand import MANUAL
from console_app.console.talk.conversation import Conversation
from console_app.domain.approvals import ApprovalMode, CallPolicy
from console_app.domain.errors import FanoutError
from console_app.domain.safe_text import one_line
from console_app.domain.sampling import EFFORTS
from console_app.domain.tools import Artifact
from console_app.domain.transcript import Transcript
from console_app.domain.transcript_parts import CallView
from console_app.engine import manual_calls
from console_app.tui.prompt.prompt import Prompt
from console_app.tui.servers.offers import ServerOffers
from console_app.tui.themes import LoadedTheme
from console_app.tui.ui import Ui
from console_app.tui.widgets.motion import use_motion
from console_app.tui.widgets.text_files import tail

if TYPE_CHECKING:
    from textual.widget import Widget

    from console_app.tui.commands.registry import Command, CommandRegistry

_POLICIES = {
    CallPolicy.PARALLEL: "all calls of an answer at once",
    CallPolicy.SEQUENTIAL: "one after the other, in order",
    CallPolicy.SINGLE: "the first runs, the rest are put off",
}
DEFAULT_EFFORT = "default"
_EFFORTS = {
    DEFAULT_EFFORT: "as configured, or as the endpoint has it",
    "none": "answer at once",
    "minimal": "very little",
    "low": "a little",
    "medium": "some",
    "high": "much",
    "xhigh": "more than high, where supported",
    "max": "as much as possible",
}


class Dialogs:
    """Of one console. Every method waits for a dialog, and is to be run by `Ui.open`."""

    def __init__(
        self,
        ui: Ui,
        services: Services,
        conversation: Conversation,
        offers: ServerOffers,
        prompt: Callable[[], Prompt],
    ) -> None:
        self._ui = ui
        self._services = services
        self._conversation = conversation
        self._offers = offers
        self._prompt = prompt
        self.commands_changed: Callable[[], Awaitable[str]] | None = None  # reads the commands' files again
        self._waits = ""  # the line that said what waits for trust

    async def help(self, commands: Sequence[Command], places: Sequence[tuple[str, Widget]]) -> None:
        """Keys, by the `places` that have some, and commands."""
        from console_app.tui.main_screen.help import HelpScreen
        from console_app.tui.main_screen.key_sections import key_sections

        await self._ui.push(HelpScreen(key_sections(self._ui.app, places), commands))

    async def commands(self, registry: CommandRegistry, keys: Mapping[str, str]) -> None:
        """The commands to pick from; `keys` do the same. Each stands once, whatever else it is called."""
        from console_app.tui.widgets.pick_list import Choice, PickList

        choices = [
            Choice(f"/{one.name}", f"{key} · {one.about}" if (key := keys.get(one.name)) else one.about)
            for one in registry
            if one.name not in ("keys", "tools")
        ]
        picked = await self._ui.push(PickList("Commands", choices, hint="Search for commands"))
        if picked is not None and (command := registry.get(picked.removeprefix("/"))) is not None:
            command.run("")

    async def model(self, name: str) -> None:
        """Switches to `name`, or lets you pick."""
        from console_app.tui.main_screen.model_picker import ModelPicker

        models = self._services.models
        picked = name or await self._ui.push(ModelPicker(models))
        if not picked or picked == models.name:
            return
        try:
            await models.switch(picked)
        except FanoutError as error:
            self._ui.tell("error", error.line)
        else:
            self._ui.changed()
            self._ui.toast(f"Model: {one_line(picked, 60)}, from the next answer on.")

    async def connect(self) -> None:
        """Connects a model by its address; it answers from then on."""
        from console_app.tui.connect.screen import ConnectScreen

        if self._services.connecting is None:
            self._ui.toast("No other model can answer here.")
        elif kept := await self._ui.push(ConnectScreen(self._services.connecting)):
            self._ui.changed()
            self._ui.tell("info", kept)

    async def theme(self, themes: Sequence[LoadedTheme], name: str) -> None:
        """Switches to the theme called `name`, or lets you pick of `themes`."""
        from console_app.tui.main_screen.theme_picker import ThemePicker

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
                self._services.remember_theme(picked)
            except FanoutError as error:
                self._ui.tell("warning", error.line)

    async def settings(
        self, themes: Sequence[LoadedTheme], use_mode: Callable[[ApprovalMode], object], query: str
    ) -> None:
        """Every setting, to be changed; those that can hold from then on."""
        from console_app.tui.main_screen.settings_screen import SettingsScreen
        from console_app.tui.prompt.editor import edit

        if (own := self._services.settings) is None:
            self._ui.toast("There are no settings to change in a replay.")
            return

        async def applied(name: str) -> str:
            later = await asyncio.to_thread(own.take_effect, name)
            if later == NEXT_START:
                value = next((one.value for one in await asyncio.to_thread(own.read) if one.name == name), None)
                if value is not None and await self._use_setting(name, value, use_mode):
                    later = ""
            self._ui.changed()
            return later

        def choices(name: str) -> Sequence[str]:
            return [theme.theme.name for theme in themes] if name == "theme" else ()

        await self._ui.push(SettingsScreen(own, applied, partial(edit, self._ui.app, suffix=".toml"), choices, query))

    async def _use_setting(self, name: str, value: object, use_mode: Callable[[ApprovalMode], object]) -> bool:
        """Has a setting hold that is the console's; False for one that has to wait."""
        match name:
            case "theme":
                self._ui.app.theme = str(value)
            case "ui.motion":
                use_motion(self._ui.app, value is True)
            case "approval_mode":
                use_mode(ApprovalMode(str(value)))
            case "model":
                try:
                    await self._services.models.switch(str(value))
                except FanoutError:
                    return False
            case _:
                return False
        return True

    async def policy(self, name: str) -> None:
        """How the calls of an answer run: as `name` says, or as you pick."""
        from console_app.tui.widgets.pick_list import Choice, PickList

        engine = self._services.engine
        if name and name not in _POLICIES:
            self._ui.toast(f"There is no policy {one_line(name, 40)}. There are: {', '.join(_POLICIES)}.")
            return
        choices = [Choice(policy.value, about) for policy, about in _POLICIES.items()]
        now = engine.settings.policy_for(engine.provider.protocol).value
        picked = name or await self._ui.push(PickList("Policy", choices, current=now))
        if picked:
            engine.settings = engine.settings.with_policy(CallPolicy(picked))
            self._ui.changed()
            self._ui.toast(f"Policy: {picked}, from the next answer on.")

    async def effort(self, name: str) -> None:
        """How much the model thinks before it answers: as `name` says, or as you pick."""
        from console_app.tui.widgets.pick_list import Choice, PickList

        models = self._services.models
        if name and name not in _EFFORTS:
            self._ui.toast(f"There is no effort {one_line(name, 40)}. There are: {', '.join(_EFFORTS)}.")
            return
        refused = f"not taken by {one_line(self._services.engine.provider.model, 30)}"
        not_taken = {effort: refused for effort in EFFORTS if not models.takes(effort)}
        choices = [Choice(effort, not_taken.get(effort, about)) for effort, about in _EFFORTS.items()]
        now = self._services.engine.settings.effort or DEFAULT_EFFORT
        picked = name or await self._ui.push(PickList("Effort", choices, current=now))
        if picked:
            said = models.use_effort(next((one for one in EFFORTS if one == picked), None))
            self._ui.changed()
            self._ui.toast(said)

    async def history(self) -> None:
        """Puts an older prompt into the prompt."""
        from console_app.tui.prompt.history_search import HistorySearch

        picked = await self._ui.push(HistorySearch(self._prompt().sent.entries))
        if picked is not None:
            self._prompt().recall(picked)

    async def editor(self) -> None:
        """The prompt in your editor."""
        from console_app.tui.prompt.editor import edit

        try:
            self._ui.put(await edit(self._ui.app, self._prompt().expanded()))
        except FanoutError as error:
            self._ui.toast(error.line, seconds=10)

    async def log(self) -> None:
        """The program's log."""
        await self.text("Log", lambda: tail(self._services.log_path), at_end=True, every=1.0)

    async def servers(self, name: str) -> None:
        """The servers with their switches, on the one called `name`."""
        from console_app.tui.servers.screen import ServersScreen

        switches, clock = self._services.servers, self._services.clock
        if switches is None:
            self._ui.toast("There are no servers in a replay.")
            return
        if self._offers.file is not None:
            self._ui.open_beside(self._offers.file.look)  # the keys behind this one are for the dialog
        if await self._ui.push(ServersScreen(switches, clock, name, self._offers)):
            self._ui.changed()

    async def reload(self) -> None:
        """Reads mcp.json and the commands' files anew."""
        if self.commands_changed is not None and (said := await self.commands_changed()):
            self._ui.tell("info", said)
        if self._offers.file is None:
            self._ui.toast("There is no mcp.json to read here.")
        else:
            await self._offers.file.reload()
        await self.say_what_waits()  # behind what a yes was asked for

    async def say_what_waits(self) -> None:
        """One line where files of the project wait for trust, with the key that shows them."""
        if (project := self._services.project_trust) is None:
            return
        self._ui.take_back(self._waits)
        if waiting := await asyncio.to_thread(project.summary):
            self._waits = f"{one_line(waiting, 300)}: {self._ui.key_of('trust')} shows it all, and asks."
            self._ui.tell("warning", self._waits)

    async def trust(self) -> None:
        """Shows what of the project waits for trust, and asks; what was agreed to takes effect."""
        project = self._services.project_trust
        try:
            waiting = [] if project is None else await asyncio.to_thread(project.waiting)
            if project is None or not waiting:
                self._ui.toast("Nothing of this project waits for your trust.")
                return
            if not await self._ui.trusts("\n\n".join("\n".join(file.lines) for file in waiting)):
                self._ui.toast("Not trusted; nothing was changed.")
                return
            for file in waiting:
                await asyncio.to_thread(project.trust, file)
            self._ui.take_back(self._waits)
            if len(waiting) == 1:
                path, summary = waiting[0].path, waiting[0].summary
                what = "" if path.suffix == ".json" else f": {summary}"  # servers are told as they come
                self._ui.tell("info", one_line(f"{path} is trusted as it was shown{what}.", 600))
            else:  # they were all read a moment ago; what is wrong with one must not be pushed off the screen
                self._ui.tell("info", f"{len(waiting):,} files of this project are trusted as they were shown.")
        except FanoutError as error:
            self._ui.tell("error", error.line)
            return
        if any(file.path.suffix == ".toml" for file in waiting):
            self._ui.tell("info", "What its settings say counts from the next start on.")
        if any(file.path.suffix == ".json" for file in waiting):
            await self.reload()
        elif self.commands_changed is not None:
            await self.commands_changed()

    async def call(self, label: str, arguments: Mapping[str, Any] | None = None) -> bool:
        """Calls made by hand: a form for each, until they are sent; they run as a turn that asks no model. Whether any
        was sent. The first form is filled in with `arguments`."""
        from console_app.tui.forms.calling import fill_in

        tools, path = self._services.engine.toolset.tools(), self._services.calls_path
        calls = await fill_in(self._ui.app, tools, path, label, self._ui.toast, arguments)
        if calls:
            self._conversation.send(f"{MANUAL}{manual_calls.written(calls)}")
        return bool(calls)

    async def timeline(
        self, transcript: Transcript, go_to: Callable[[CallView], None], at: CallView | None = None
    ) -> None:
        """A turn's calls in time, the selected one first; the one that is picked is gone to, or inspected too."""
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
        """What a call sent and got, whole."""
        await self.text(one_line(call.label, 60), lambda: call_text(call, self._services.exchange(call.id)), every=0.5)

    async def files(self, files: Sequence[Artifact], server: str) -> None:
        """Opens a file or a link of a result of `server`; of several the one that is picked."""
        from console_app.tui.servers.open_files import choose_and_open

        read = partial(self._offers.read, server) if server and self._services.hub is not None else None
        await choose_and_open(self._ui.app, files, self._ui.toast, read)

    async def edit_arguments(self, call: CallView, accept: str, use: Callable[[str, dict[str, Any]], None]) -> None:
        """A form for the arguments of a call; `use` gets its id and the new ones. `accept` says what that does."""
        edited = await self._edited(call, accept)
        if edited is not None:
            use(call.id, edited)

    async def _edited(self, call: CallView, accept: str) -> dict[str, Any] | None:
        from console_app.tui.approvals.call_editing import editor_for

        engine = self._services.engine
        spec = next((spec for spec in engine.toolset.tools() if spec.name == call.name), None)
        clock = self._services.timing.now
        return await self._ui.push(editor_for(call, spec, engine.gate, accept=accept, clock=clock))

    async def text(
        self, title: str, read: Callable[[], str], *, at_end: bool = False, every: float | None = None
    ) -> None:
        from console_app.tui.widgets.text_dialog import TextDialog

        await self._ui.push(TextDialog(title, read, at_end=at_end, every=every))
