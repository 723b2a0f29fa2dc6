"""Opens the chat screen's dialogs and acts on their results. Each dialog is imported when it is first opened."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from console_app.domain.approvals import CallPolicy
from console_app.domain.errors import FanoutError
from console_app.domain.safe_text import one_line
from console_app.domain.tools import Artifact
from console_app.domain.transcript_parts import Call
from console_app.engine import given_calls
from console_app.tui.status import model_and_provider
from console_app.tui.text_files import tail
from console_app.tui.turn_driver import GIVEN

if TYPE_CHECKING:
    from textual.app import App

    from console_app.mcp_client.exchange import RawMessage
    from console_app.tui.screens.chat import ChatScreen
    from console_app.tui.screens.help import KeySection


_POLICIES = {
    CallPolicy.PARALLEL: "all calls of an answer at once",
    CallPolicy.SEQUENTIAL: "one after the other, in order",
    CallPolicy.SINGLE: "the first runs, the rest are put off",
}


class Dialogs:
    """The dialogs of one chat screen. Every method must run in a worker of that screen, for it waits for a result."""

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen
        self._app: App[int] = screen.app
        self._services = screen.services

    async def help(self, sections: list[KeySection]) -> None:
        """Keys and commands."""
        from console_app.tui.screens.help import HelpScreen

        await self._app.push_screen_wait(HelpScreen(sections, self._screen.commands.own))

    async def model(self, name: str) -> None:
        """Switches to `name`, or lets you pick."""
        from console_app.tui.screens.model_picker import ModelPicker

        model, provider = model_and_provider(self._services)
        picked = name or await self._app.push_screen_wait(
            ModelPicker(self._services.known_models, f"{provider}/{model}")
        )
        if not picked or picked == f"{provider}/{model}":
            return
        try:
            await self._services.switch_model(picked)
        except FanoutError as error:
            self._screen.tell("error", error.line)
        else:
            self._screen.model_changed()
            self._screen.toast(f"{one_line(picked, 60)} answers from the next turn on.")

    async def theme(self, name: str) -> None:
        """Wears `name`, or lets you pick."""
        from console_app.tui.screens.theme_picker import ThemePicker

        names = [theme.theme.name for theme in self._screen.themes]
        if name and name not in names:
            self._screen.tell("error", f"There is no theme {one_line(name, 40)}. There are: {', '.join(names)}.")
            return
        picked = name or await self._app.push_screen_wait(ThemePicker(self._screen.themes, self._app.theme))
        if picked is None:
            return
        self._app.theme = picked
        if self._services.remember_theme is not None:
            try:
                self._services.remember_theme(picked)
            except FanoutError as error:
                self._screen.tell("warning", error.line)

    async def policy(self, name: str) -> None:
        """How the calls of an answer run: as `name` says, or as you pick."""
        from console_app.tui.screens.pick_list import Choice, PickList

        engine = self._services.engine
        if name and name not in _POLICIES:
            self._screen.toast(f"There is no policy {one_line(name, 40)}. There are: {', '.join(_POLICIES)}.")
            return
        choices = [Choice(policy.value, about) for policy, about in _POLICIES.items()]
        now = engine.settings.policy_for(engine.provider.protocol).value
        picked = name or await self._app.push_screen_wait(PickList("Policy", choices, current=now))
        if picked:
            engine.settings = engine.settings.with_policy(CallPolicy(picked))
            self._screen.refresh_status()
            self._screen.toast(f"Policy: {picked}, from the next answer on.")

    async def history(self) -> None:
        """Puts an older prompt into the prompt."""
        from console_app.tui.screens.history_search import HistorySearch

        prompt = self._screen.prompt
        picked = await self._app.push_screen_wait(HistorySearch(prompt.sent.entries))
        if picked is not None:
            prompt.put(picked)

    async def editor(self) -> None:
        """The prompt in your editor."""
        from console_app.tui.editor import edit

        prompt = self._screen.prompt
        try:
            prompt.put(await edit(self._app, prompt.expanded()))
        except FanoutError as error:
            self._screen.toast(error.line, seconds=10)

    async def log(self) -> None:
        """The program's log."""
        await self._text("Log", lambda: tail(self._services.log_path), at_end=True, every=1.0)

    async def servers(self, name: str) -> None:
        """The servers with their switches, on the one called `name`."""
        from console_app.tui.screens.servers import ServersScreen

        desk, clock = self._services.servers, self._services.clock
        if desk is None:
            self._screen.toast("There are no servers in a replay.")
            return
        if await self._app.push_screen_wait(ServersScreen(desk, clock, name, self._screen.offers)):
            self._screen.refresh_status()

    async def call(self, label: str) -> None:
        """Calls made by hand: a form for each, until they are sent; they run as a turn that asks no model."""
        from console_app.tui.forms.calling import fill_in

        calls = await fill_in(self._app, self._services, label, self._screen.toast)
        if calls:
            self._screen.send(f"{GIVEN}{given_calls.written(calls)}")

    async def timeline(self) -> None:
        """A turn's calls in time; the one that is picked comes under the cursor, or is inspected."""
        from console_app.tui.screens.timeline import TimelineScreen

        services, transcript = self._services, self._screen.transcript
        picked = await self._app.push_screen_wait(TimelineScreen(transcript, services.clock, services.working_folder))
        call = transcript.calls.get(picked[1]) if picked is not None else None
        if picked is None or call is None:
            return
        self._screen.view.go_to_call(call)
        if picked[0] == "inspect":
            await self.inspect(call)

    async def inspect(self, call: Call) -> None:
        """What a call sent and got, whole."""
        await self._text(one_line(call.label, 60), lambda: call_text(call, self._services.exchange(call.id)), every=0.5)

    async def files(self, files: Sequence[Artifact], server: str) -> None:
        """Opens a file or a link of a result of `server`; of several the one that is picked."""
        from console_app.tui.open_files import choose_and_open

        read = partial(self._screen.offers.read, server) if server and self._services.hub is not None else None
        await choose_and_open(self._app, files, self._screen.toast, read)

    async def edit_waiting(self, call: Call) -> None:
        """Lets a waiting call run with other arguments."""
        edited = await self._edited(call, accept="runs it with these")
        if edited is not None:
            self._screen.decisions.run_edited(call.id, edited)

    async def edit_and_run(self, call: Call) -> None:
        """Runs a call again with other arguments."""
        edited = await self._edited(call, accept="runs it again with these")
        if edited is not None:
            self._screen.panel_keys.run_again(call, edited)

    async def _edited(self, call: Call, accept: str) -> dict[str, Any] | None:
        from console_app.tui.call_editing import editor_for

        engine = self._services.engine
        spec = next((spec for spec in engine.toolset.tools() if spec.name == call.name), None)
        return await self._app.push_screen_wait(editor_for(call, spec, engine.gate, accept=accept))

    async def _text(
        self, title: str, read: Callable[[], str], *, at_end: bool = False, every: float | None = None
    ) -> None:
        from console_app.tui.screens.text_dialog import TextDialog

        await self._app.push_screen_wait(TextDialog(title, read, at_end=at_end, every=every))


def call_line(call: Call) -> str:
    """`server.tool {json}`: a call as it can be asked for in a prompt."""
    name = f"{call.server}.{call.tool}" if call.server else call.name
    arguments = call.arguments_text if call.arguments is None else json.dumps(call.arguments, ensure_ascii=False)
    return f"{name} {arguments or '{}'}"


def call_text(call: Call, exchange: Sequence[RawMessage] = ()) -> str:
    """Everything known of a call: the request, how it went in time, the result as the model read it, and `exchange`:
    the messages between console and server, as far as they were kept."""
    arguments = (
        call.arguments_text if call.arguments is None else json.dumps(call.arguments, indent=2, ensure_ascii=False)
    )
    state = call.outcome.value.replace("_", " ") if call.outcome else call.state.value
    lines = [
        f"call       {call.id}",
        f"tool       {call.label}   ({call.name} on the wire, {call.origin})",
        f"state      {state}" + (f": {call.why}" if call.why else ""),
        *_times(call),
        "",
        "Request" + (" (arguments edited by you)" if call.edited else ""),
        arguments or "(no arguments yet)",
    ]
    if call.repaired:
        lines += ["", "Mended to read it", *call.repaired]
    if call.raw:
        lines += ["", "As the model wrote it", call.raw]
    if call.log:
        lines += ["", "Log", *(f"{line.level:<8} {line.text}" for line in call.log)]
    if call.error:
        lines += ["", "Error", call.error]
    if call.artifacts:
        lines += ["", "Files", *(f"{a.name}   {a.mime}   {a.path or a.uri}" for a in call.artifacts)]
    if call.outcome is not None:
        lines += ["", f"Result ({len(call.content):,} characters)", call.content]
    for message in exchange:
        after = f"{message.at - call.announced_at:.3f} s after it was announced"
        lines += ["", f"JSON-RPC {'→ sent' if message.sent else '← received'}, {after}", message.text]
    return "\n".join(lines)


def _times(call: Call) -> list[str]:
    """When it was complete, started and ended, in seconds after it was announced."""
    marks = (("ready", call.ready_at), ("started", call.started_at), ("finished", call.finished_at))
    times = [f"{what} after {at - call.announced_at:.2f} s" for what, at in marks if at is not None]
    return (
        [f"times      {', '.join(times)}" + (f"; ran {call.duration_ms / 1000:.2f} s" if call.duration_ms else "")]
        if times
        else []
    )
