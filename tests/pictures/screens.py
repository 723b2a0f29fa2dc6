"""Every screen of the console as a still: the real program in a pseudo-terminal, keys pressed, its screen kept."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyte.screens import Char
from rich.style import Style

from console_app.tui.recording.svg import Recording, Row, Screen, StyledRun
from tests.program.process import Fanout
from tests.program.terminal import Terminal

SIZE = (88, 28)  # columns and rows
FOLDER = Path("/tmp/fanout")
_ANSI = {
    "black": "000000", "red": "cd3131", "green": "0dbc79", "brown": "e5e510", "blue": "2472c8", "magenta": "bc3fbc",
    "cyan": "11a8cd", "white": "e5e5e5", "default": "",
}  # fmt: skip
# What is pressed from the main screen, what is seen when all of it is there, and what leads back.
_DIALOGS: dict[str, tuple[tuple[str, ...], str, tuple[str, ...]]] = {
    "timeline": (("ctrl+t",), r"needs you", ("escape",)),
    "servers": (("ctrl+l",), r"space on/off", ("escape",)),
    "help": (("f1",), r"run the call that waits", ("escape",)),
    "commands": (("/",), r"/model", ("escape", "ctrl+c")),
    "model": (("/model", "enter"), r"Not listed", ("escape",)),
    "permissions": (("/permissions", "enter"), r"d remove", ("escape",)),
    "sessions": (("/sessions", "enter"), r"succeeded: ", ("escape",)),
    "call": (("/call calculator.evaluate", "enter"), r"ctrl\+s run", ("escape",)),
    "theme": (("/theme", "enter"), r"enter select", ("escape",)),
}


def still(terminal: Terminal) -> str:
    """Return the terminal's screen as an SVG."""
    terminal.text()
    rows = tuple(_row(terminal, line) for line in range(terminal.rows))
    return Recording(terminal.columns, terminal.rows, (Screen(0.0, rows),), 1.0).as_svg()


def _row(terminal: Terminal, line: int) -> Row:
    cells = terminal.screen.buffer[line]
    runs: list[StyledRun] = []
    for column in range(terminal.columns):
        char = cells[column]
        if not char.data:
            continue  # the second half of a wide character
        style = _style(char)
        wide = column + 1 < terminal.columns and not cells[column + 1].data
        if runs and runs[-1].style == style:
            last = runs.pop()
            runs.append(StyledRun(last.at, last.cells + 1 + wide, last.text + char.data, style))
        else:
            runs.append(StyledRun(column, 1 + wide, char.data, style))
    return tuple(runs)


def _style(char: Char) -> Style:
    ink, ground = _hex(char.fg), _hex(char.bg)
    if char.reverse:
        ink, ground = ground or "#101010", ink or "#d0d0d0"
    flags = {"bold": char.bold, "italic": char.italics, "underline": char.underscore, "strike": char.strikethrough}
    return Style(color=ink or None, bgcolor=ground or None, **{name: True for name, on in flags.items() if on})


def _hex(colour: str) -> str:
    value = _ANSI.get(colour.removeprefix("bright"), colour)
    return f"#{value}" if value else ""


@contextmanager
def console(fanout: Fanout) -> Iterator[Terminal]:
    """Open the console of `make run` in a folder that has nothing of its own."""
    (fanout.cwd / ".git").mkdir()
    environment = fanout.environment({"TERM": "xterm-256color", "COLORTERM": "truecolor"})
    argv = fanout.argv("-m", "offline/rehearsal")
    with Terminal(argv, env=environment, cwd=fanout.cwd, rows=SIZE[1], columns=SIZE[0]) as terminal:
        yield terminal


def leave(terminal: Terminal) -> None:
    """The console ends, and keeps its session."""
    terminal.press("escape", "ctrl+d")
    terminal.process.wait(60)


def stills() -> Iterator[tuple[str, str]]:
    """The name and the picture of each screen, in the order in which they are met."""
    FOLDER.mkdir()  # seen in the pictures, so the same each time; one that somebody else made is an error
    try:
        with console(Fanout(FOLDER)) as terminal:
            yield from _walk(terminal)
    finally:
        shutil.rmtree(FOLDER)


def _walk(terminal: Terminal) -> Iterator[tuple[str, str]]:
    terminal.expect("2 servers · 7 tools")
    terminal.expect("Ask, or /")
    yield "empty", still(terminal)
    terminal.press("enter")
    terminal.expect("step 4 of 18")
    yield "approval", still(terminal)
    terminal.decide("y", "y run it")
    terminal.expect(r"shows how they ran")
    yield "answer", still(terminal)
    terminal.press("alt+up")
    terminal.expect("o open")
    terminal.press("o")
    terminal.expect("^ ▎ +arguments")
    yield "panel", still(terminal)
    terminal.press("o")
    terminal.expect_gone("^ ▎ +arguments")
    terminal.press("escape")
    terminal.expect_gone("esc back")
    for name, (keys, seen, back) in _DIALOGS.items():
        for key in keys:
            terminal.press(key)
        terminal.expect(seen)
        yield name, still(terminal)
        terminal.press(*back)
        terminal.expect_gone(seen)


def draw(folder: Path) -> None:
    """Draws all of them into `folder`."""
    for name, picture in stills():
        (folder / f"{name}.svg").write_text(picture, encoding="utf-8")
        print(f"{folder.name}/{name}.svg: {len(picture):,} bytes")
