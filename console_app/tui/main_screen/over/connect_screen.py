"""Connects a model: an address, a key where it wants one, a model; tried with one request, then kept.

Everything is one form, so that nothing typed is lost when an endpoint refuses. The list below the fields has what
answers on this machine and the vendors while the address is looked for, then the models that the address lists.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from time import monotonic
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.timer import Timer
from textual.widgets import Input, OptionList, Static
from textual.worker import Worker

from console_app.console import Connecting, Listing
from console_app.domain import FanoutError, amounts, one_line, plural, web_address
from console_app.domain.settings import VENDOR_URLS
from console_app.records import dataclass
from console_app.tui.widgets.dialog import Dialog, HintedInput
from console_app.tui.widgets.key_hints import KeyHints
from console_app.tui.widgets.pick_list import SearchedList

MOST_SHOWN = 200
_UNLISTED = "listed once the address answers, or typed"


@dataclass(frozen=True, slots=True)
class KnownAddress:
    url: str
    about: str
    wants_key: bool = False


VENDORS = (
    KnownAddress(VENDOR_URLS["openai-chat"], "OpenAI, with a key", wants_key=True),
    KnownAddress(VENDOR_URLS["anthropic"], "Anthropic, with a key", wants_key=True),
)


class ConnectScreen(Dialog[str | None], sheets=("../../asking/form.tcss", "connect.tcss")):
    """Connects a model. The result says what was kept where, and is None for Escape."""

    DEFAULT_CLASSES = "dialog form"
    AUTO_FOCUS = "#address"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "go_on", "go on", id="connect.go_on", priority=True),
        Binding("tab", "app.focus_next", "next field", id="connect.next", priority=True),
        Binding("up", "move(-1)", "up", id="connect.up", show=False, priority=True),
        Binding("down", "move(1)", "down", id="connect.down", show=False, priority=True),
        Binding("escape", "leave('close')", "close", id="connect.close"),
        Binding("escape", "leave('cancel')", "cancel", id="connect.close"),
    ]

    def __init__(self, connecting: Connecting) -> None:
        super().__init__()
        self._connecting = connecting
        self._places: list[KnownAddress] = list(VENDORS)
        self._listing: Listing | None = None
        self._listed_for = ("", "")  # address and key as they were typed
        self._given_for = ""  # the address that the key went to
        self._names: list[str] = []
        self._busy = self._keeping = False
        self._moved = False  # in the list of addresses, since one was typed or taken
        self._work: Worker[None] | None = None
        self._doing, self._since = "", 0.0
        self._seconds: Timer | None = None

    def compose(self) -> ComposeResult:
        with self.box("Connect a model"):
            hint = "http://127.0.0.1:1234/v1, or one of the list"
            for label, field in (
                ("Address", HintedInput(id="address", hint=hint, select_on_focus=False)),
                ("Key", HintedInput(id="key", hint="where it asks for one", password=True, select_on_focus=False)),
                ("Model", HintedInput(id="model", hint=_UNLISTED, select_on_focus=False)),
            ):
                with Horizontal(classes="row"):
                    yield Static(label, classes="label")
                    yield field
            yield SearchedList(id="places")
            yield Static(id="said")
            yield KeyHints()

    def on_mount(self) -> None:
        self._fill()
        self._say("Looking for models on this machine …")
        self.run_worker(self._look, group="look")

    async def _look(self) -> None:
        found = await self._connecting.local()
        at = self._options.highlighted if self._moved else None
        self._places = [
            KnownAddress(one.url, f"on this machine: {one.name}, {_amount(one.models)}", one.models is None)
            for one in found
        ]
        self._places += VENDORS
        if self._listing is None:
            self._fill()
            if at is not None:
                self._options.highlighted = at + len(found)  # what you moved to is further down now
            if not self._busy:
                nothing = "Nothing answers at the usual ports of this machine. Type an address, or take one."
                some = f"Found on this machine: {len(found)}. Enter takes the highlighted one."
                self._say(some if found else nothing)

    # -- fields

    @property
    def _typed(self) -> tuple[str, str]:
        return self._input("address").value.strip(), self._input("key").value.strip()

    def _input(self, name: str) -> Input:
        return self.query_one(f"#{name}", Input)

    @on(Input.Changed, "#address")
    def _address_changed(self, event: Input.Changed) -> None:
        """Keep a key with the host that it went to."""
        if self._given_for and self._input("key").value and _origin(event.value) != _origin(self._given_for):
            self._input("key").value, self._given_for = "", ""
            self._say("The key was for another host: it is taken out.")
        self._moved = False
        self._forget()
        self._mark()

    @on(Input.Changed, "#model")
    def _model_changed(self) -> None:
        self._fill()
        if self._listing is not None and not self._busy:
            self._say(self._listed())

    def _listed(self) -> str:
        models = self._listing.models if self._listing is not None else ()
        typed = self._input("model").value.strip()
        if self._names:
            shown = len(self._names)
            part = "" if shown == len(models) else f"{shown} of "
            more = ": type a part of a name" if MOST_SHOWN == shown < len(models) else ""
            return f"{part}{_amount(models)}{more}. Enter tries the highlighted one."
        none = f"None of {_amount(models)} is called that." if models or self._listing is None else self._listing.why
        return f"{none} Enter tries {typed}." if typed else f"{none} Type the name of a model; enter tries it."

    @on(Input.Changed, "#key")
    def _forget(self) -> None:
        if self._listing is not None and self._typed != self._listed_for:
            self._listing = None
            self._fill()

    # -- the list

    @property
    def _options(self) -> OptionList:
        return self.query_one("#places", OptionList)

    def _fill(self) -> None:
        if self._listing is None:
            self._names = []
            rows = [(place.url, place.about) for place in self._places]
        else:
            self._names = SearchedList.best(self._input("model").value.strip(), self._listing.models, MOST_SHOWN)
            rows = [(name, "") for name in self._names]
        self.query_one("#model", HintedInput).hinted("a part of its name" if self._names else _UNLISTED)
        options = self._options
        options.clear_options()
        widest = max((len(one_line(value, 50)) for value, _ in rows), default=0)
        options.add_options(
            Content(f"{one_line(value, 300):<{widest}}") + Content.styled(f"  {one_line(about, 90)}", "$muted")
            for value, about in rows
        )
        self._mark()

    def _mark(self) -> None:
        """Highlight what Enter would take. While an address is typed, that is only the place with this address."""
        options, typed = self._options, self._typed[0]
        if self._listing is None and typed and not self._moved:
            urls = [place.url for place in self._places]
            options.highlighted = urls.index(typed) if typed in urls else None
        else:
            options.highlighted = 0 if options.option_count else None

    def action_move(self, delta: int) -> None:
        options = self._options
        if count := options.option_count:
            at = options.highlighted
            options.highlighted = ((-1 if at is None else at) + delta) % count
            self._moved = self._listing is None

    @on(OptionList.OptionSelected)
    def _clicked(self, event: OptionList.OptionSelected) -> None:
        if self._listing is None:
            self._take(self._places[event.option_index])
        else:
            self._input("model").value = self._names[event.option_index]
            self.action_go_on()

    def _take(self, place: KnownAddress) -> None:
        self._input("address").value = place.url
        if place.wants_key and not self._typed[1]:
            self._input("key").focus()
            self._say("Paste the key. It is sent to this address alone.")
        else:
            self._list()

    # -- going on

    def action_go_on(self) -> None:
        if self._busy:
            return
        address, _ = self._typed
        if self._listing is not None:
            self._try(self._listing)
        elif address and not self._moved:
            self._list()
        elif (index := self._options.highlighted) is not None and index < len(self._places):
            self._take(self._places[index])

    def _list(self) -> None:
        address, key = self._listed_for = self._typed
        self._begin("Asking for its models …")
        self._given_for = address if key else ""
        self._work = self.run_worker(partial(self._ask, address, key), group="work", exclusive=True)

    async def _ask(self, address: str, key: str) -> None:
        try:
            listing = await self._connecting.listing(address, key)
        except FanoutError as error:
            self._refused(error)
            return
        self._is_busy(False)
        if self._typed != (address, key):
            self._say("The address or the key was changed meanwhile: enter asks again.")
            return
        self._listing = listing
        self._fill()
        self._input("model").focus()
        self._say(self._listed())

    def _try(self, listing: Listing) -> None:
        index, typed = self._options.highlighted, self._input("model").value.strip()
        model = self._names[index] if index is not None and index < len(self._names) else typed
        if not model:
            self._say("Type the name of a model.", "-wrong")
            return
        self._begin(f"Trying {model} with one short request …")
        self._work = self.run_worker(partial(self._keep, listing, model), group="work", exclusive=True)

    async def _keep(self, listing: Listing, model: str) -> None:
        try:
            seconds = await self._connecting.try_out(listing.connection, model)
            self._keeping = True
            self.refresh_bindings()
            answered = f"{model} answered in {amounts.measured(seconds)}."
            self._say(f"{answered} Keeping it …", "-done")
            kept = await self._connecting.keep(listing.connection, model)
        except FanoutError as error:
            self._refused(error)
            return
        self.dismiss(f"{answered} {kept}")

    def _begin(self, text: str) -> None:
        self._is_busy(True)
        self._doing, self._since = text, monotonic()
        self._say(text)
        if self._seconds is None:
            self._seconds = self.set_interval(1, self._tick)

    def _tick(self) -> None:
        """Say how long it takes: an endpoint may start with its first request."""
        if self._busy and not self._keeping:
            self._say(f"{self._doing} {monotonic() - self._since:.0f} s")

    def _refused(self, error: FanoutError) -> None:
        self._keeping = False
        self._is_busy(False)
        self._say(error.line, "-wrong")
        if getattr(error, "status", None) in (401, 403):
            self._input("key").focus()

    def _say(self, text: str, kind: str = "") -> None:
        said = self.query_one("#said", Static)
        said.update(Content(one_line(text, 400)))
        said.set_class(kind == "-wrong", "-wrong")
        said.set_class(kind == "-done", "-done")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Name Escape after what it does: it cancels an open question first."""
        busy = "" if self._keeping else "cancel"
        return action != "leave" or parameters[0] == (busy if self._busy else "close")

    def _is_busy(self, busy: bool) -> None:
        self._busy = busy
        self.refresh_bindings()

    def action_leave(self, _what: str = "") -> None:
        if self._busy:
            if self._work is not None and not self._keeping:
                self._work.cancel()
                self._is_busy(False)
                self._say("Cancelled. What you typed is still there.")
        else:
            self.dismiss(None)


def _amount(models: Sequence[str] | None) -> str:
    return "needs a key" if models is None else plural(len(models), "model")


def _origin(address: str) -> tuple[str, str, int | None]:
    try:
        return web_address.origin(address if "://" in address else f"https://{address}")
    except ValueError:
        return "", address, None
