"""Textual's driver for a POSIX terminal, with the faults of its input, its output and its end mended.

Input: one byte that is no UTF-8 would end the program, and so would a key code that is no character. A paste is parsed
character by character (seven seconds for 5 MB). Alt+Enter, as a plain terminal sends it, arrives as Enter. An Enter
typed while the program still started arrives as a new line.

Output: everything passes `edge`, in UTF-8 whatever the locale. A terminal that stops reading or goes away
stops nothing (`TerminalWriter`).

End: every mode that was switched on is switched off, also where the event loop hangs. Ctrl+C, pressed again, then ends
the program. Answers that the terminal still owes are read first, or the shell would take them as typed.
"""

from __future__ import annotations

import asyncio
import codecs
import fcntl
import logging
import os
import select
import signal
import struct
import sys
import termios
import threading
import time
from asyncio import AbstractEventLoop
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from textual import events
from textual.app import App
from textual.drivers.linux_driver import LinuxDriver
from textual.geometry import Size
from textual.message import Message

from console_app.config.machine import BrowserPage, start_browser
from console_app.tui.terminal.attention import RESTORE_TITLE, SAVE_TITLE
from console_app.tui.terminal.canvas import Canvas
from console_app.tui.terminal.edge import cleaned
from console_app.tui.terminal.questions import TerminalQuestions, is_shared, may_be_asked
from console_app.tui.textual_internals import XTermParser

FULL = 8_000_000  # bytes waiting before frames are dropped: minutes of frames, or one screen that is copied
SHORT = 64  # bytes of what is never dropped: the sequences that switch modes
MOMENT = 2  # milliseconds for a terminal that reads to take the next 4 kB of a frame
PATIENCE = 2.0  # seconds that the end of the program waits for a terminal that doesn't read


class TerminalWriter:
    """An ordered queue of text for a descriptor. `recovered` and `lost` are called from the thread, once each time.

    What a terminal takes at once is written at once, on a descriptor of its own that never blocks: while agents work, a
    thread may wait 60 ms for Python's lock."""

    def __init__(
        self,
        descriptor: int,
        *,
        recovered: Callable[[], None],
        lost: Callable[[], None],
        behind: Canvas | None = None,
    ) -> None:
        self._descriptor = descriptor
        self._recovered = recovered
        self._lost = lost
        self._behind = behind
        self._queue: deque[bytes] = deque()
        self.waiting = 0  # bytes that the terminal has not read
        self._dropped = False
        self._stopped = False
        self._gone = False
        self._is_writing = False  # the thread, outside of the lock
        self._at_once: int | None = None
        self._room = select.poll()
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="terminal-output", daemon=True)

    def start(self) -> None:
        with suppress(OSError):  # a pipe, or the terminal of another user
            name = os.ttyname(self._descriptor)
            self._at_once = os.open(name, os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK)
            self._room.register(self._at_once, select.POLLOUT)
        self._thread.start()

    def write(self, text: str) -> None:
        """Queues `text`; returns at once. Characters that are no Unicode are replaced."""
        data = text.encode("utf-8", "replace")
        with self._changed:
            if self._gone or self._stopped:
                return
            if self._at_once is not None and not (self._queue or self._is_writing):
                with suppress(OSError):  # it takes nothing now, or is gone, which the thread finds out
                    while data and self._room.poll(MOMENT):
                        data = data[os.write(self._at_once, data) :]
                if not data:
                    return
            if self.waiting + len(data) > FULL and len(data) > SHORT and self._queue:
                self._dropped = True
                return
            self._queue.append(data)
            self.waiting += len(data)
            self._changed.notify()

    def wake(self) -> None:
        with self._changed:
            self._changed.notify()

    def stop(self) -> None:
        """Writes what is queued, waiting a little while for a terminal that reads slowly."""
        with self._changed:
            self._stopped = True
            self._changed.notify()
            if self._at_once is not None:
                os.close(self._at_once)
        if self._thread.is_alive():
            self._thread.join(PATIENCE)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(
                    lambda: self._queue or self._stopped or (self._behind is not None and self._behind.pending)
                )
                if self._stopped and not self._queue:
                    return
                data = b"".join(self._queue)
                self._queue.clear()
                size = len(data)
                self._is_writing = True
            if not data and self._behind is not None:
                data = self._behind.take().encode()
            try:
                view = memoryview(data)
                while view:
                    view = view[os.write(self._descriptor, view[:65_536]) :]
            except OSError as error:
                log.info("the terminal can't be written any more: %s", error)
                with self._changed:
                    self._gone = True
                    self._queue.clear()
                self._lost()
                return
            with self._changed:
                self.waiting -= size
                self._is_writing = False
                again, self._dropped = self._dropped, False
            if again:
                self._recovered()


HANGS = 3.0  # seconds without a sign of the loop, from the second key on, after which the program is ended
# Ctrl+C and Ctrl+D, plain and as terminals with the kitty protocol send them.
_KEYS = (b"\x03", b"\x04", b"\x1b[99;5u", b"\x1b[100;5u")


class HangWatch:
    """Looks at what is typed. `end` is called, from a thread, when two such keys weren't taken for `HANGS` seconds."""

    def __init__(self, loop: AbstractEventLoop, end: Callable[[], None]) -> None:
        self._loop = loop
        self._end = end
        self._untaken = 0
        self._timer: threading.Timer | None = None

    def typed(self, data: bytes) -> None:
        if not (keys := sum(data.count(key) for key in _KEYS)):
            return
        self._untaken += keys
        try:
            self._loop.call_soon_threadsafe(self._taken)
        except RuntimeError:
            return  # the loop is closed: the program is ending
        if self._untaken > 1 and self._timer is None:
            self._timer = threading.Timer(HANGS, self._look)
            self._timer.daemon = True
            self._timer.start()

    def _taken(self) -> None:
        self._untaken = 0
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        if self._untaken:
            log.error("the console hangs, and was ended from the keyboard")
            self._end()


PASTE_START, PASTE_END = "\x1b[200~", "\x1b[201~"
READ_BYTES = 1 << 16
TICK = 0.1  # seconds without input, after which a lone Escape is one
SMALLEST = (80, 25)  # for a terminal that doesn't say its size
USUAL_CELL = (10, 20)  # pixels, for one that doesn't say theirs
UNREAD = 100_000  # characters that the terminal has still to read, from which on pictures are drawn coarsely
REST = 0.15  # seconds without change after which they are drawn finely
TERMINAL = 1  # standard output: the one that was found to be a terminal, while standard error may go to a file
# Sequences that terminals send, and those by which the parser knows the keys. Of Alt+Enter and Alt+digit, - or =, as
# plain terminals send them, it would make a sign that is written. rxvt's Alt with an arrow or a page key would be Esc,
# which stops the turn, and then the key. The rest is xterm's modifyOtherKeys for these keys and for Shift+Enter.
RESPELT = {
    **{f"\x1b\x1b{mark}{arrow}": f"\x1b[1;3{arrow}" for mark in "[O" for arrow in "ABCD"},
    **{f"\x1b\x1b[{page}~": f"\x1b[{page};3~" for page in "56"},
    "\x1b\r": "\x1b[13;3u",
    "\x1b[27;2;13~": "\x1b[13;2u",
    **{f"\x1b{sign}": f"\x1b[{ord(sign)};3u" for sign in "0123456789-="},
    **{f"\x1b[27;3;{ord(sign)}~": f"\x1b[{ord(sign)};3u" for sign in "0123456789-="},
}
# Esc and then Tab, read at once, as tmux sends them where half a second is between them: to the parser it is Shift+Tab,
# which it is on Linux' own console alone, and the approval mode would change.
ESCAPE_TAB = {"\x1b\t": "\x1b[27u\t"}
# Off: mouse, focus, paste, in-band resize, synchronized output; then wrap on, keyboard, screen and cursor as before.
PIXELS_OFF = "\x1b[?1016l\x1b[?2048l\x1b[?2026l"
REPORTS_OFF = "\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?1004l\x1b[?2004l"
ENDED = "\x1b\\"
RESTORE = f"{REPORTS_OFF}{PIXELS_OFF}\x1b[?7h\x1b[0m\x1b[<u\x1b[?1049l\x1b[?25h"

log = logging.getLogger(__name__)


class InputFeed:
    """Text from the terminal in, messages out. A paste is cut out whole, in time proportional to its size."""

    def __init__(self, parser: XTermParser | None = None) -> None:
        self._parser = parser or XTermParser()
        self._respelt = RESPELT if os.environ.get("TERM") == "linux" else RESPELT | ESCAPE_TAB
        self._paste: list[str] | None = None  # the pieces so far, while inside a paste

    def feed(self, text: str) -> Iterator[Message]:
        """The messages of `text`, which may end anywhere: in a key, in a paste, in a marker of its end."""
        while text:
            if self._paste is None:
                before, start, text = text.partition(PASTE_START)
                if before:
                    for plain, known in self._respelt.items() if "\x1b" in before else ():
                        before = before.replace(plain, known)
                    try:
                        yield from self._parser.feed(before)
                    except Exception as error:  # it fails on codes that no terminal sends, and begins anew behind them
                        log.info("input that is no key was dropped: %r", error)
                        self._parser = XTermParser()
                if start:
                    self._paste = [""]
            else:
                # The end marker may have been cut in two: look for it in the last piece and the new one together.
                text = self._paste.pop() + text
                body, end, rest = text.partition(PASTE_END)
                if not end:
                    cut = max(len(text) - len(PASTE_END) + 1, 0)
                    self._paste += [text[:cut], text[cut:]]
                    return
                pasted = "".join([*self._paste, body]).replace("\x00", "")
                self._paste, text = None, rest
                yield events.Paste(pasted)

    def tick(self) -> Iterator[Message]:
        yield from self._parser.tick()


class ConsoleDriver(LinuxDriver):
    """`LinuxDriver` with `InputFeed` in front of the parser and `TerminalWriter` behind the frames."""

    def __init__(self, app: App[Any], **options: Any) -> None:
        if os.environ.get("STY") and not os.environ.get("TMUX"):
            options["mouse"] = False  # GNU screen keeps Esc back, till another key comes, while mouse reports are on
        super().__init__(app, **options)  # pyright: ignore[reportUnknownMemberType]
        self._writer: TerminalWriter | None = None
        self._drawing = False  # modes are on, and have to be switched off whatever happens
        self.canvas = Canvas(lambda: None if self._writer is None else self._writer.wake(), self._cell)
        self._questions = TerminalQuestions(self._ask, is_light=self._background_is, known=self._open_canvas)
        self._finer: asyncio.TimerHandle | None = None  # paints pictures anew, when nothing moves any more
        self._feed: InputFeed | None = None  # while input is read
        self._is_listening = False  # the loop reads, and the thread what it leaves
        self._reading = threading.RLock()

    # -- output

    def start_application_mode(self) -> None:
        self._writer = TerminalWriter(
            TERMINAL, recovered=self._repaint_soon, lost=self._terminal_lost, behind=self.canvas
        )
        self._writer.start()
        self._drawing = True
        self.write(SAVE_TITLE)
        questions = self._questions.begin(
            background=getattr(self._app, "asks_background", False),
            name=BrowserPage.in_use() is None and may_be_asked(os.environ),
            sixels=not is_shared(os.environ),
        )
        super().start_application_mode()
        # Not before: until it reads key by key, the terminal writes on the screen what it answers.
        self._ask(questions)
        self._open_canvas()
        signal.signal(signal.SIGWINCH, self._window_changed)
        if (page := BrowserPage.in_use()) is not None:
            page.when_taken_over(self._loop, self._draw_anew)

    def _ask(self, questions: str) -> None:
        if self._writer is not None:
            self._writer.write(questions)

    def _open_canvas(self) -> None:
        if self._questions.draws_cells:
            self.canvas.open(self._app.console.color_system)
        elif self._questions.sixels and self._cell_or_none() is not None:
            self.canvas.open(self._app.console.color_system, self._questions.sixels)

    def _background_is(self, light: bool) -> None:
        self._app.call_later(self._app.background_is, light)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownArgumentType, reportUnknownMemberType]  (who asks has it)

    def _cell(self) -> tuple[int, int]:
        return self._cell_or_none() or USUAL_CELL

    def _cell_or_none(self) -> tuple[int, int] | None:
        try:
            size = fcntl.ioctl(TERMINAL, termios.TIOCGWINSZ, bytes(8))
        except OSError:
            return None
        rows, columns, width, height = struct.unpack("HHHH", size)
        cell = (width // columns, height // rows) if rows and columns else (0, 0)
        return cell if all(cell) else self._questions.cell

    def _draw_anew(self) -> None:
        """Another terminal took the place of this one: it has none of the modes, and nothing is painted on it."""
        if self._drawing:  # else an editor has it
            self.suspend_application_mode()
            self.resume_application_mode()

    def open_url(self, url: str, new_tab: bool = True) -> None:
        """Opens a web address in the browser: the one that shows the console, where one does."""
        try:
            if (page := BrowserPage.in_use()) is None:
                start_browser(url)
            else:
                page.open_url(url)
        except OSError as error:
            log.warning("the browser was not asked to open an address: %s", error)

    def _window_changed(self, *_: object) -> None:
        """Has the size read on the loop. Read here, as Textual does, it may be told late: signal handlers nest."""
        if not self._in_band_window_resize:
            self._loop.call_soon_threadsafe(self._tell_size)

    def _tell_size(self) -> None:
        self.canvas.resized()
        size = Size(*self._get_terminal_size())
        self.send_message(events.Resize(size, size))

    def write(self, data: str) -> None:
        if self._writer is not None:
            is_read = self._writer.waiting < UNREAD
            last = self._get_terminal_size()[1]
            frame, could_be_finer = self.canvas.with_strips(cleaned(data), last, is_read=is_read)
            self._writer.write(frame)
            if could_be_finer:
                self._paint_finer_soon()

    def _paint_finer_soon(self) -> None:
        if self._finer is not None:
            self._finer.cancel()
        self._finer = self._loop.call_later(REST, self._paint_finer)

    def _paint_finer(self) -> None:
        if self._writer is None or not self._drawing:
            return
        if self._writer.waiting >= UNREAD:
            self._paint_finer_soon()
        else:
            self.canvas.rest()
            self._repaint_soon()

    def stop_application_mode(self) -> None:
        if self._writer is not None:
            self._writer.write(self.canvas.close())
        self.write(PIXELS_OFF)
        self.write(RESTORE_TITLE)
        super().stop_application_mode()
        self._drawing = False

    def disable_input(self) -> None:
        """Stops reading, once the terminal has answered: a program that ends at once is quicker than some."""
        self._loop.remove_reader(self.fileno)
        self._is_listening = False
        if self._questions.are_open:
            self.write(REPORTS_OFF)
            self._questions.wait()
        self._questions.close()
        self._feed = None
        super().disable_input()

    def close(self) -> None:
        super().close()
        if self._writer is not None:
            self._writer.stop()
            self._writer = None

    def restore_now(self) -> None:
        """Give the terminal back past every queue, when a process ends whose event loop hangs."""
        if not self._drawing:
            return
        self._drawing = False
        try:
            os.set_blocking(TERMINAL, False)
            # A picture may be cut off: its string is ended first.
            pictures = ENDED + self.canvas.close() if self.canvas.is_open else ""
            os.write(TERMINAL, (pictures + RESTORE_TITLE + RESTORE).encode())
        except OSError:
            pass
        finally:
            os.set_blocking(TERMINAL, True)
        if self.attrs_before is not None:
            try:
                termios.tcsetattr(self.fileno, termios.TCSANOW, self.attrs_before)
            except termios.error:
                pass

    def _get_terminal_size(self) -> tuple[int, int]:
        """Return the size that the terminal reports now; COLUMNS and LINES are from when the shell started."""
        try:
            columns, rows = os.get_terminal_size(TERMINAL)
        except OSError:
            return SMALLEST
        return (columns, rows) if columns and rows else SMALLEST

    def resume_application_mode(self) -> None:
        """Takes the terminal again, after an editor or the shell had it, and paints what they painted over."""
        super().resume_application_mode()
        self._repaint_soon()

    def _repaint_soon(self) -> None:
        self._app.call_later(self._app.refresh, layout=True)

    def _terminal_lost(self) -> None:
        """Nobody is there any more: as if the terminal's line had been hung up."""
        self._app.call_later(self._app.exit, return_code=128 + signal.SIGHUP)

    # -- input

    def process_message(self, message: Message) -> None:
        """Pass a message on, unless it is a size that nobody asked the terminal to report, or that is impossible."""
        if isinstance(message, events.Resize) and not (self._in_band_window_resize and all(message.size)):
            return
        super().process_message(message)

    def send_message(self, message: Message) -> None:
        """Put a message before the app, in the order of reading. Textual makes a task of it first, which costs a key a
        round of the loop."""
        if isinstance(message, events.Key):
            self._app.typed_at = time.monotonic()  # pyright: ignore[reportAttributeAccessIssue]  (who reads keys here has it)
        self._loop.call_soon_threadsafe(self._app.post_message, message)

    def run_input_thread(self) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8")(errors="replace").decode
        self._feed = InputFeed(XTermParser(self._debug))
        self._ahead = self._typed_ahead()
        self._hangs = HangWatch(self._loop, self._end_hanging)
        self._is_lost = False
        try:
            self._loop.call_soon_threadsafe(self._listen, self._feed)
            self._read_what_is_left()
        finally:
            self._questions.close()

    def _read_what_is_left(self) -> None:
        """Read what the loop doesn't: before it listens, behind it, and where it hangs."""
        left = False
        while not (self.exit_event.wait(TICK if self._is_listening else 0) or self._is_lost):
            before, left = left, self._waits(0 if self._is_listening else TICK)
            if left and (before or not self._is_listening):
                self._take()
            elif not left:
                with self._reading:
                    self._pass_on(self._questions.held())

    def _listen(self, feed: InputFeed) -> None:
        """Read on the loop: while an answer comes in a burst, a thread waits 30 ms for Python's lock, and for each
        key several times."""
        if feed is self._feed:
            with suppress(OSError):  # of a kind that can't be waited for: the thread reads it
                self._loop.add_reader(self.fileno, self._typed)
                self._is_listening = True

    def _typed(self) -> None:
        self._take()
        if self._is_lost:
            self._loop.remove_reader(self.fileno)
        else:
            self._loop.call_later(TICK, self._pass_on, "")

    def _waits(self, seconds: float) -> bool:
        return bool(select.select([self.fileno], [], [], seconds)[0])

    def _take(self) -> None:
        with self._reading:
            if self._is_lost or not self._waits(0):  # the other has read it
                return
            try:
                data = os.read(self.fileno, READ_BYTES)
            except OSError:
                data = b""
            if not data:
                self._is_lost = True
                self._terminal_lost()
                return
            data = data[: self._ahead].replace(b"\n", b"\r") + data[self._ahead :]
            self._ahead = max(self._ahead - len(data), 0)
            self._hangs.typed(data)
            self._pass_on(self._questions.without(self._decode(data)))

    def _pass_on(self, text: str) -> None:
        with self._reading:
            if self._feed is not None:
                for message in (*self._feed.feed(text), *self._feed.tick()):
                    self.process_message(message)

    def _end_hanging(self) -> None:
        self.restore_now()
        os._exit(128 + signal.SIGINT)

    def _typed_ahead(self) -> int:
        """Count the waiting bytes from before the console's modes were on: among these Enter is a new line."""
        before = self.attrs_before
        if before is None or not (before[0] & termios.ICRNL and before[3] & termios.ICANON):
            return 0
        return int.from_bytes(fcntl.ioctl(self.fileno, termios.FIONREAD, bytes(4)), sys.byteorder)
