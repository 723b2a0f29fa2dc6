"""Reads one resource of a server: its text or the file it was saved as, and whether it has changed since."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar, Literal

from textual import work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from console_app.config.machine import BrowserPage
from console_app.console.files import open_file
from console_app.console.servers import Watching
from console_app.domain import Artifact, Attachment, FanoutError, amounts, one_line, plural, web_address
from console_app.mcp_client import Composer, Hub
from console_app.tui.lineview import ResultBody
from console_app.tui.servers.folding_tree import FoldingTree
from console_app.tui.servers.prompt_screen import rendered
from console_app.tui.servers.tree_dialog import uses_in_brief, uses_of
from console_app.tui.widgets.dialog import Dialog
from console_app.tui.widgets.key_hints import KeyHints
from console_app.tui.widgets.pick_list import PickList
from console_app.tui.widgets.text_view import TextView

LARGEST_RENDERED = 200_000  # characters: more is shown as it came
MOST_SHOWN = 1_000_000  # characters: laying out more would be felt at the keyboard
LOOK = 0.3  # seconds between two looks at whether it has changed


Read = Callable[[str], Awaitable[object]]


class ResourceScreen(Dialog[Literal["attach"] | None], sheets=("resource.tcss",)):
    """Gives "attach" when it is to go into the prompt."""

    DEFAULT_CLASSES = "dialog -tall"
    AUTO_FOCUS = "TextView"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a,enter", "dismiss('attach')", "attach", tooltip="name it in the prompt", id="resource.attach"),
        Binding("c", "copy", "copy", id="resource.copy"),
        Binding("f", "files", "open file", id="resource.files"),
        Binding("w", "watch", "watch/stop", tooltip="be told when it changes, or no longer", id="resource.watch"),
        Binding("r", "read", "read again", id="resource.read"),
        Binding("v", "raw", "raw", tooltip="as it came, or as what it is", id="resource.raw"),
        Binding("escape,q", "dismiss(None)", "back", id="resource.back"),
    ]

    def __init__(self, hub: Hub, watching: Watching, server: str, uri: str, about: str = "") -> None:
        super().__init__()
        self._hub = hub
        self._watching = watching
        self._server = server
        self._uri = uri
        self._about = about
        self._parts: Sequence[Attachment] = ()
        self._problem = ""
        self._reading = False
        self._raw = False
        self._is_more = False  # than text: it is shown as what it is

    @staticmethod
    async def choose_and_open(
        app: App[int], files: Sequence[Artifact], tell: Callable[[str], None], read: Read | None = None
    ) -> None:
        """Open the only one of `files`, or the one that is picked; `read` shows what can only be read at its server.

        The desktop is only given a saved file (never executable), or a web address that was shown; a browser's page
        gets the file as a download. Where one can't be opened, as over ssh, its path or address is on the clipboard.
        """
        table = {one.path or one.uri: one for one in files if one.path or one.uri}
        if not table:
            tell("Nothing of it was saved.")
            return
        picked: str | None = next(iter(table))
        if len(table) > 1 or not table[picked].path:  # an address is shown before it is opened
            facts = {
                where: (one.name, one.mime, amounts.size(one.size) if one.size else "") for where, one in table.items()
            }
            choices = {where: " · ".join(filter(None, about)) for where, about in facts.items()}
            picked = await app.push_screen_wait(PickList("Open", choices))
        if picked is None:
            return
        path, shown = table[picked].path, one_line(picked, 160)
        if not path and web_address.is_web_link(picked):
            app.open_url(picked)
            tell(f"Opened {one_line(picked, 100)}")
        elif not path and read is not None:
            await read(picked)
        elif path and (page := BrowserPage.in_use()) is not None:
            try:
                if Path(path).is_file():
                    page.save_file(path)
                    tell(f"Downloading {shown}")
                else:
                    tell(f"Not downloaded: {shown} is gone")
            except OSError as error:
                tell(f"Not downloaded: {one_line(str(error), 100)}")
        elif problem := await asyncio.to_thread(open_file, path) if path else "it is no web address":
            app.copy_to_clipboard(picked)
            tell(f"Not opened: {problem}. Copied instead: {one_line(picked, 200)}")
        else:
            tell(f"Opened {shown}")

    def compose(self) -> ComposeResult:
        with self.box(f"{one_line(self._server, 40)} · {one_line(self._uri, 120)}"):
            yield Static(id="facts")
            yield TextView()
            yield FoldingTree()
            yield KeyHints()

    def on_mount(self) -> None:
        self.action_read()
        self.set_interval(LOOK, self._tell)

    def action_read(self) -> None:
        self._reading = True
        self._tell()
        self.run_worker(self._read, exclusive=True, group="read")

    async def _read(self) -> None:
        try:
            self._parts, self._problem = await Composer(self._hub).attachments(self._server, self._uri), ""
        except FanoutError as error:
            self._parts, self._problem = (), error.line
        self._reading = False
        if not self._problem:
            self._watching.seen(self._server, self._uri)
        text = self._text
        more = f"\n… {amounts.size(len(text) - MOST_SHOWN)} more are not shown; c copies all."
        self.query_one(TextView).set_text(text if len(text) <= MOST_SHOWN else text[:MOST_SHOWN] + more)
        self._lay_out()
        self._tell()
        self.refresh_bindings()

    def _lay_out(self) -> None:
        """Lay the resource out by its kind, where that is more than text and not too much; else as it came."""
        plain, tree = self.query_one(TextView), self.query_one(FoldingTree)
        body = ResultBody.of(self._text, {"uri": self._uri}) if 0 < len(self._text) <= LARGEST_RENDERED else None
        self._is_more = body is not None and body.found.kind != "text"
        if body is not None and self._is_more and not self._raw:
            tree.show([rendered(body.found.title or body.found.kind, body, plain.size.width - 6, tree.palette)])
        at_it = plain.has_focus or tree.has_focus
        plain.display = self._raw or not self._is_more
        tree.display = not plain.display
        if at_it:
            (plain if plain.display else tree).focus()

    def action_raw(self) -> None:
        self._raw = not self._raw
        self._lay_out()

    @property
    def _text(self) -> str:
        return "\n\n".join(one.text for one in self._parts)

    def _tell(self) -> None:
        mark = self._watching.mark(self._server, self._uri)
        uses = uses_of(self._hub.traffic(self._server), "resources/read", self._uri)
        tokens = plural(max(len(self._text) // amounts.CHARACTERS_A_TOKEN, 1), "token")
        cost = [f"~{tokens} when attached"] if self._text else []
        facts = Content.styled(" · ".join([*(one.facts for one in self._parts), *cost, uses_in_brief(uses)]), "$muted")
        if self._reading:
            line = Content.styled("reading …", "$secondary")
        elif self._problem:
            line = Content.styled(f"✗ {one_line(self._problem, 400)}", "$error")
        elif mark == "changed":
            line = Content.styled("● changed since it was read, r reads it again  ", "$warning") + facts
        else:
            line = (Content.styled("○ watched  ", "$accent") if mark else Content("")) + facts
        if self._about:
            line += Content.styled(f"  {one_line(self._about, 300)}", "$muted")
        self.query_one("#facts", Static).update(line)

    def action_copy(self) -> None:
        self.app.copy_to_clipboard(self._text)
        self.notify("Copied.", markup=False, timeout=2)

    def action_files(self) -> None:
        files = [Artifact(name=one.name, mime=one.mime, path=one.path, size=one.size) for one in self._parts]
        saved = [one for one in files if one.path]
        self.run_worker(
            partial(self.choose_and_open, self.app, saved, lambda text: self.notify(text, markup=False)), group="open"
        )

    @work(exclusive=True, group="watch")
    async def action_watch(self) -> None:
        try:
            on = await self._watching.switch(self._server, self._uri)
        except FanoutError as error:
            self.notify(one_line(error.line, 300), severity="error", markup=False)
            return
        self.notify("You will be told when it changes." if on else "No longer watched.", markup=False, timeout=3)
        self._tell()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        match action:
            case "files":
                return any(one.path for one in self._parts)
            case "copy":
                return bool(self._parts)
            case "raw":
                return self._is_more
            case _:
                return True
