"""The floor: a Textual app with nothing in it but a line to type in."""

from textual.app import App, ComposeResult
from textual.widgets import Input


class EmptyApp(App[None]):
    """One input, focused."""

    def compose(self) -> ComposeResult:
        yield Input()


if __name__ == "__main__":
    EmptyApp().run()
