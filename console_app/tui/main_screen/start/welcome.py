"""Open an empty conversation with a page: what Fanout is, which model answers, how to change it, prompts to try."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.widget import Widget
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from console_app.domain import one_line
from console_app.tui.lineview.lines import break_points

if TYPE_CHECKING:
    from console_app.domain import Level  # pydantic, which the first paint has no use for


@dataclass(frozen=True, slots=True)
class Example:
    """A prompt to try: `text` is sent, `about` says what it shows, `needs` are servers whose tools it takes."""

    text: str
    about: str
    needs: frozenset[str] = frozenset()


ABOUT = (
    "Fanout runs many tool calls at once. Each has a panel of its own: watch it, "
    "approve, change, stop it or run it again, while the others go on."
)
EXAMPLES = (
    Example(
        "Calculate these three things: (1) 355/113, (2) sqrt(2), (3) e^pi",
        "three calls at once",
        frozenset({"calculator"}),
    ),
    Example(
        "Run four long tasks of 3, 4, 6 and 8 seconds",
        "four calls with progress; alt+up goes to them, x stops one",
        frozenset({"demo"}),
    ),
    Example(
        'Make a call fail with "on purpose", and calculate sqrt(144)',
        "one that fails beside one that works",
        frozenset({"calculator", "demo"}),
    ),
)
WITH_ANY = (
    Example("What can you do with the tools that are on?", "what the model knows of your servers"),
    Example("Add 'buy milk' and 'call Ada' to the to-do list", "a list that the model keeps and you can change"),
)
WITHOUT_TOOLS = (
    Example("What can you do here without any tools?", "what the model says of itself: no server is there"),
)


def examples_for(servers: Collection[str]) -> tuple[Example, ...]:
    """Return the examples to try where mcp.json names these servers: those that ship with Fanout may not be among
    them."""
    if not servers:
        return WITHOUT_TOOLS
    return tuple(example for example in EXAMPLES if example.needs <= set(servers)) or WITH_ANY


LOW = 20  # rows of a terminal up to which nothing stands between what is told, and examples are a line each


class ExampleList(OptionList, can_focus=False):
    """The prompts; the keys come by way of the prompt, so it never takes the focus."""


class Notices(Widget):
    """Shows notices behind a mark each, with their further rows behind it too. Only those about something wrong look
    so."""

    def __init__(self) -> None:
        super().__init__()
        self._lines: Sequence[tuple[Level, str]] = ()

    def tell(self, lines: Sequence[tuple[Level, str]]) -> None:
        """Shows these in place of those before."""
        self._lines = [(level, one_line(line)) for level, line in lines]
        self.display = bool(lines)
        self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """One row a line, or more."""
        return len(self._rows(width))

    def render(self) -> Content:
        """Its rows at the width that it has."""
        return Content("\n").join(self._rows(self.content_size.width))

    def _rows(self, width: int) -> list[Content]:
        rows = list[Content]()
        for level, line in self._lines:
            mark, style = ("·", "$foreground") if level in ("debug", "info", "notice") else ("!", "$warning")
            for start, end in break_points(line, width - 2):
                rows.append(Content.styled(f"{' ' if start else mark} {line[start:end].rstrip()}", style))
        return rows


class Welcome(Vertical):
    """Tells and offers. Picking is a message; the screen sends."""

    DEFAULT_CSS = """
    Welcome { height: 1fr; padding: 1 2; overflow-y: auto; scrollbar-size-vertical: 1; }
    Welcome > .welcome--about { height: auto; max-width: 80; margin-bottom: 1; }
    Welcome > .welcome--text { height: auto; }
    Welcome > Notices { height: auto; margin-top: 1; display: none; }
    Welcome > .welcome--try { height: auto; color: $muted; margin-top: 1; }
    Welcome > ExampleList {
        height: auto; max-height: 100%; border: none; padding: 0; margin-top: 1;
        background: $background; scrollbar-size: 0 0;
    }
    Welcome > ExampleList > .option-list--option { padding: 0 1; }
    Welcome.-low { padding: 0 2; }
    Welcome.-low > .welcome--about, Welcome.-low > Notices, Welcome.-low > ExampleList { margin: 0; }
    Welcome.-low > ExampleList { text-wrap: nowrap; text-overflow: ellipsis; }
    Welcome > ExampleList > .option-list--option-highlighted { background: $panel; color: $foreground; }
    """

    @dataclass
    class Picked(Message):
        """The example was clicked."""

        text: str

    def __init__(self, examples: Sequence[Example] = EXAMPLES, *, id: str | None = None) -> None:
        """Without `examples` it names none: which fit isn't known before the servers are."""
        super().__init__(id=id)
        self.examples = examples
        self._facts = Content("\n")  # two lines, so that nothing moves when they are known
        self._model: tuple[str, str] | None = None

    @property
    def _low(self) -> bool:
        return self.screen.size.height <= LOW

    def compose(self) -> ComposeResult:
        self.set_class(self._low, "-low")
        yield Static(ABOUT, classes="welcome--about", markup=False)
        yield Static(self._facts, classes="welcome--text")
        yield Notices()
        if self.examples:
            yield Static("Try one: press its number, or an arrow and enter.", classes="welcome--try", markup=False)
        options = ExampleList(*_options(self.examples, self._low), markup=False)
        options.highlighted = None
        yield options

    def on_resize(self) -> None:
        """Shorten the text where the page gets low, and leave the examples most of the room."""
        if self._low != self.has_class("-low"):
            self.set_class(self._low, "-low")
            self._list(self.query_one(ExampleList).highlighted)
            if self._model is not None:
                self.tell(*self._model)

    def tell(self, model: str, provider: str) -> None:
        """Say which model answers, and how to change it."""
        self._model = (model, provider)
        name = Content.styled(one_line(model, 40) or "the first model listed", "bold $primary")
        if provider == "offline":
            kind = "a scripted model" if self._low else "a scripted offline model"
            first = Content("Demo mode: ") + name + Content(f", {kind}, no key needed")
        else:
            first = Content("Using ") + name + Content(f" ({one_line(provider, 40)})")
        if provider == "offline" and self._low:
            how = "To connect one, here or with a key: type /connect."
        elif provider == "offline":
            how = "To connect a model, on this machine or with a key: type /connect."
        elif self._low:
            how = "Change it: /model, or /connect for another address."
        else:
            how = "To change the model: type /model, or /connect for another address."
        self._facts = first + Content("\n") + Content.styled(how, "$muted")
        if self.is_attached:
            self.query_one(".welcome--text", Static).update(self._facts)

    def offer(self, servers: Collection[str]) -> None:
        """Offer the examples that one of these servers could do."""
        if (examples := examples_for(servers)) != self.examples:
            self.examples = examples
            self._list(None)

    def _list(self, highlighted: int | None) -> None:
        options = self.query_one(ExampleList)
        options.set_options(_options(self.examples, self._low))
        options.highlighted = highlighted

    def notices(self, lines: Sequence[tuple[Level, str]]) -> None:
        """Show the notices from before there was a conversation."""
        self.query_one(Notices).tell(lines)

    def move(self, delta: int) -> None:
        """Moves the highlight; up from the first takes it away."""
        options = self.query_one(ExampleList)
        if options.highlighted is None:
            options.highlighted = 0 if delta > 0 else None
        elif options.highlighted + delta < 0:
            options.highlighted = None
        else:
            options.highlighted = min(options.highlighted + delta, len(self.examples) - 1)

    @property
    def highlighted(self) -> Example | None:
        """The example that Enter would send."""
        index = self.query_one(ExampleList).highlighted
        return None if index is None else self.examples[index]

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """A click."""
        event.stop()
        self.post_message(self.Picked(self.examples[event.option_index].text))


def _options(examples: Sequence[Example], low: bool) -> list[Option]:
    return [Option(_row(number, example, low)) for number, example in enumerate(examples, 1)]


def _row(number: int, example: Example, low: bool) -> Content:
    text = Content.styled(f"{number}  ", "bold $primary") + Content(example.text)
    return text if low else text + Content.styled(f"\n   {example.about}", "$muted")
