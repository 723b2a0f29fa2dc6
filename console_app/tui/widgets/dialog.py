"""Every screen above the main one is a dialog: a modal screen whose work ends before its widgets go."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

from textual import events, getters
from textual.containers import Vertical
from textual.content import Content
from textual.geometry import Size
from textual.screen import ModalScreen
from textual.widgets import Input

from console_app.domain import one_line
from console_app.tui.textual_internals import end_work, typed_app
from console_app.tui.widgets.key_hints import KeyHints
from console_app.tui.widgets.too_small import LEAST_COLUMNS, TooSmall

CORNERS = 6  # cells of the edge that a title can't have


class DialogBox(Vertical):
    def __init__(self, title: str, keys: str) -> None:
        super().__init__(id="box")
        self.border_title = Content(title)  # pyright: ignore[reportAttributeAccessIssue]  (it takes both)
        self._keys = keys

    def name_keys(self, keys: str) -> None:
        self._keys = keys
        self.on_resize()

    def on_resize(self) -> None:
        if self._keys:
            self.border_subtitle = KeyHints.fitted(self._keys, self.outer_size.width - CORNERS)


Result = TypeVar("Result")
SHEET = Path(__file__).with_name("dialog.tcss")  # whole: dialogs stand in other folders
LOW = [(0, "-low"), (TooSmall.ROOMY, "-high")]  # of few rows a dialog may have all
NARROW = [(0, "-cramped"), (LEAST_COLUMNS, "-fitting")]


class Dialog(ModalScreen[Result]):
    """Gives `Result`. No worker of it finds its widgets gone: a file or an endpoint may answer while it closes."""

    CSS_PATH = SHEET
    DEFAULT_CLASSES = "dialog"
    HORIZONTAL_BREAKPOINTS = NARROW
    VERTICAL_BREAKPOINTS = LOW
    _is_laid_out = False  # the first layout says the size that it was made for: no second is needed
    app = getters.app(typed_app)

    def __init_subclass__(cls, sheets: Sequence[str] = (), **options: Any) -> None:
        """Give a dialog more `sheets`, by their paths from its own file."""
        super().__init_subclass__(**options)
        if sheets:
            cls.CSS_PATH = [SHEET, *sheets]  # pyright: ignore[reportConstantRedefinition]

    def box(self, title: str, keys: str = "") -> DialogBox:
        """Return its frame. `keys` are named by importance, the one that leaves last; "": a line below has them."""
        return DialogBox(title, keys)

    def name_keys(self, keys: str) -> None:
        self.query_one(DialogBox).name_keys(keys)

    def action_leave(self) -> None:
        self.dismiss(None)

    def _screen_resized(self, size: Size) -> None:
        if self._is_laid_out or size != self.outer_size:
            super()._screen_resized(size)
        self._is_laid_out = True

    async def _message_loop_exit(self) -> None:
        end_work(self)
        await super()._message_loop_exit()


class HintedInput(Input):
    """`hint` stands in it while it is empty, with an ellipsis at its end where there is more of it."""

    def __init__(self, value: str = "", *, hint: str, **options: Any) -> None:
        super().__init__(value, placeholder=hint, **options)
        self._hint = hint

    def begin(self, hint: str, words: str) -> None:
        """Takes the focus with another hint and these words, to go on behind them."""
        self.hinted(hint)
        self.value, self.cursor_position = words, len(words)
        self.focus()

    def hinted(self, hint: str) -> None:
        self._hint = hint
        self._fit()

    def on_resize(self, event: events.Resize) -> None:
        self._fit()

    def _fit(self) -> None:
        width = self.content_size.width
        self.placeholder = self._hint if len(self._hint) <= width else one_line(self._hint, max(width, 1))
