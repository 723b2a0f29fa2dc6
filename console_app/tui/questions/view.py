"""What the board shows of one question: a view a kind, which says its keys and makes a reply of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from console_app.console.talk.question_queue import PendingQuestion, Reply
from console_app.domain.amounts import plural
from console_app.domain.safe_text import visible

MOST_OF_A_MESSAGE = 4000  # characters of what a server says that are shown


class AskedView(Vertical):
    """Of one question. Nothing in it decides anything: the board asks for the reply of a key that was meant."""

    DEFAULT_CSS = """
    AskedView { height: auto; }
    AskedView > VerticalScroll { height: auto; scrollbar-size-vertical: 1; background: $background; }
    AskedView Static { height: auto; }
    """

    wants: ClassVar[str] = ""
    """What the server wants, behind its name."""
    choices: ClassVar[Sequence[tuple[str, str]]] = ()
    """The keys that decide, and what each does."""
    withdrawn: ClassVar[bool] = False
    """Whether the question isn't open any more."""

    def __init__(self, asked: PendingQuestion) -> None:
        super().__init__()
        self.asked = asked

    @abstractmethod
    def reply(self, key: str) -> Reply | None:
        """What a key decides; None where it can't decide that yet, and shows why."""

    @property
    def is_ready(self) -> bool:
        """Whether all of it is there to be decided on."""
        return self.is_mounted

    @property
    def text_to_copy(self) -> str:
        """What `c` copies."""
        return ""

    @property
    def body(self) -> Widget:
        """What scrolls."""
        return self.query_one(VerticalScroll)

    def lay_out(self, width: int, room: int) -> None:
        """Takes at most `room` lines."""
        self.body.styles.max_height = room

    @property
    def can_enter(self) -> bool:
        """Whether there is something to fill in."""
        return False

    def enter(self) -> None:
        """Puts the cursor into the first field."""


class WithdrawnView(AskedView):
    """In place of a form that you were filling in: its call has ended."""

    wants = "asks no longer"
    withdrawn = True

    def compose(self) -> ComposeResult:
        """Why it is gone."""
        with VerticalScroll(can_focus=False):
            yield Static(Content.styled("The question was withdrawn: the call that asked has ended.", "$warning"))

    def reply(self, key: str) -> Reply | None:
        """There is nobody to answer."""
        return None


def message_of(text: str) -> Content:
    """What a server says, as it is."""
    shown = visible(text.strip()[:MOST_OF_A_MESSAGE])
    content = Content.styled(shown, "bold $foreground")
    if len(text) > MOST_OF_A_MESSAGE:
        content += Content.styled(f"\n… {plural(len(text) - MOST_OF_A_MESSAGE, 'more character')}", "$muted")
    return content
