"""Open an empty conversation with a page of at most forty words: what Fanout is, what answers, what to do."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget
from textual.widgets import Static

from console_app.domain import one_line
from console_app.records import dataclass
from console_app.tui.lineview.lines import Line

if TYPE_CHECKING:
    from console_app.domain import Level  # pydantic, which the first paint has no use for


@dataclass(frozen=True, slots=True)
class Example:
    """A prompt to begin with: `about` says what Enter does where it is sent."""

    text: str
    about: str


ABOUT = "Fanout runs many tool calls at once."
DEMO = Example("Show me what you can do", "shows twelve of them")
WITH_ANY = Example(
    "Use several of the tools that are on at once, and tell me what they can do for me", "sends an example"
)
WITHOUT_TOOLS = Example("What can you do here without any tools?", "sends an example")
SHOWS = frozenset({"calculator", "demo"})


def example_for(servers: Collection[str], *, scripted: bool) -> Example:
    """Return the prompt to begin with where mcp.json names these servers. Only the scripted model knows what it is to
    show, and not all servers that ship need be there for it."""
    return DEMO if scripted and set(servers) >= SHOWS else WITH_ANY if servers else WITHOUT_TOOLS


LOW = 20  # rows of a terminal up to which nothing stands between what is told


class Notices(Widget):
    """Shows notices behind a mark each, their further rows behind it too. Those of something wrong stand out."""

    def __init__(self) -> None:
        super().__init__()
        self._lines: Sequence[tuple[Level, str]] = ()

    def tell(self, lines: Sequence[tuple[Level, str]]) -> None:
        self._lines = [(level, one_line(line)) for level, line in lines]
        self.display = bool(lines)
        self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self._rows(width))

    def render(self) -> Content:
        return Content("\n").join(self._rows(self.content_size.width))

    def _rows(self, width: int) -> list[Content]:
        rows = list[Content]()
        for level, line in self._lines:
            mark, style = ("·", "$foreground") if level in ("debug", "info", "notice") else ("!", "$warning")
            for number, text in enumerate(Line.wrap_text(line, width - 2)):
                rows.append(Content.styled(f"{' ' if number else mark} {text}", style))
        return rows


class Welcome(Vertical):
    """Tells what there is, and holds the prompt that Enter begins with."""

    DEFAULT_CSS = """
    Welcome { height: 1fr; padding: 1 2; overflow-y: auto; scrollbar-size-vertical: 1; }
    Welcome > Static { height: auto; margin-bottom: 1; }
    Welcome > Notices { height: auto; display: none; }
    Welcome.-low { padding: 0 2; }
    Welcome.-low > Static { margin: 0; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._servers: Collection[str] | None = None  # not known yet
        self.asked = False  # Enter was pressed before
        self.runs = False  # Enter sends the example; else it only writes it
        self._facts = Content("")

    def compose(self) -> ComposeResult:
        self.on_resize()
        yield Static(ABOUT, markup=False)
        yield Static(self._facts, classes="welcome--text")
        yield Static(self._to_do, classes="welcome--try")
        yield Notices()

    def on_resize(self) -> None:
        self.set_class(self.screen.size.height <= LOW, "-low")

    def tell(self, model: str, provider: str) -> None:
        self.runs = provider == "offline"
        name = Content.styled(one_line(model, 40) or "The first model listed", "bold $primary")
        way = "/connect adds a real one." if self.runs else "/model picks another."
        self._facts = (Content("A scripted model") if self.runs else name) + Content(" answers; ")
        self._facts += Content.styled(way, "$muted")
        self._paint()

    def offer(self, servers: Collection[str]) -> None:
        self._servers = servers
        self._paint()

    @property
    def example(self) -> Example | None:
        return None if self._servers is None else example_for(self._servers, scripted=self.runs)

    @property
    def _to_do(self) -> Content:
        about = "" if self.example is None else f"{self.example.about}." if self.runs else "writes an example."
        return Content.styled("Enter ", "bold $primary") + Content(about) if about else Content("")

    def _paint(self) -> None:
        if self.is_attached:
            self.query_one(".welcome--text", Static).update(self._facts)
            self.query_one(".welcome--try", Static).update(self._to_do)

    def notices(self, lines: Sequence[tuple[Level, str]]) -> None:
        self.query_one(Notices).tell(lines)
