"""A page that a server wants you to open: the whole address, its host made clear, and what to look out for."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from console_app.console.talk.question_queue import PendingQuestion, Reply
from console_app.domain.questions import Elicitation, ElicitationAnswer
from console_app.domain.safe_text import visible
from console_app.domain.web_address import read_address
from console_app.tui.questions.view import AskedView, message_of


class PageView(AskedView):
    """Accepting is the consent to open it; the hub does that."""

    DEFAULT_CSS = """
    PageView .page--address { margin: 1 0; }
    """

    wants = "wants you to open a page"
    choices = (("y", "open in the browser"), ("c", "copy"), ("n", "decline"), ("x", "cancel"))

    def __init__(self, asked: PendingQuestion, question: Elicitation) -> None:
        super().__init__(asked)
        self._question = question

    @property
    def text_to_copy(self) -> str:
        """The address."""
        return self._question.url

    def compose(self) -> ComposeResult:
        """The message, the address, warnings."""
        address = read_address(self._question.url)
        with VerticalScroll(can_focus=False):
            yield Static(message_of(self._question.message))
            if address is None:
                yield Static(Content.styled(visible(self._question.url), "$foreground"), classes="page--address")
                return
            whole = Content.styled(address.before, "$muted") + Content.styled(address.host, "bold $accent")
            yield Static(whole + Content.styled(address.after, "$foreground"), classes="page--address")
            for warning in address.warnings:
                yield Static(Content.styled(f"! {warning}", "bold $warning"))
            yield Static(Content.styled("Fanout sees nothing of what you do there.", "$muted"))

    def reply(self, key: str) -> Reply | None:
        """`y` opens it."""
        match key:
            case "n":
                return ElicitationAnswer("decline")
            case "x":
                return ElicitationAnswer("cancel")
            case "y":
                return ElicitationAnswer("accept")
            case _:
                return None
