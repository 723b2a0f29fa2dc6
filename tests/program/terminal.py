"""The whole program in a real pseudo-terminal, read back through a terminal emulator (pyte).

A thread reads every byte at once and answers the queries that a terminal answers, so a slow test never slows the
program; the screen is brought up to date only when someone looks. Waiting is for what the screen shows, woken by the
bytes as they come: nothing here sleeps for a guessed time.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pyte

from tests.patience import PATIENCE
from tests.program.prefork import Copy
from tests.program.process import copyable
from tests.program.rows import Rows

KEYS = {
    "enter": "\r",
    "tab": "\t",
    "escape": "\x1b",
    "space": " ",
    "backspace": "\x7f",
    "shift+tab": "\x1b[Z",
    "up": "\x1b[A",
    "down": "\x1b[B",
    "right": "\x1b[C",
    "left": "\x1b[D",
    "alt+up": "\x1b[1;3A",
    "alt+down": "\x1b[1;3B",
    "alt+enter": "\x1b\r",
    "alt+t": "\x1bt",
    "home": "\x1b[H",
    "end": "\x1b[F",
    "pageup": "\x1b[5~",
    "pagedown": "\x1b[6~",
    "f1": "\x1bOP",
    "f4": "\x1bOS",
} | {f"ctrl+{chr(c)}": chr(c & 0x1F) for c in range(ord("a"), ord("z") + 1)}

KIND = re.compile(rb"\x1b\[0?c")
BACKGROUND = re.compile(rb"\x1b\]11;\?\x1b\\")
# What else the program may ask, and what an xterm answers.
QUERIES = [
    (re.compile(rb"\x1b\[6n"), b"\x1b[1;1R"),
    (re.compile(rb"\x1b\[\?2026\$p"), b"\x1b[?2026;2$y"),
    (re.compile(rb"\x1b\[\?2048\$p"), b"\x1b[?2048;0$y"),
]
# Private modes a program must not leave switched on: mouse, alternate screen, bracketed paste, focus reports.
MODES_TO_RESTORE = {1000, 1002, 1003, 1006, 1015, 1016, 1049, 2004, 2026, 2048, 1004}
LAST = b"\x1b[?7777z"  # means nothing to a terminal
FRAME_START, FRAME_END = b"\x1b[?2026h", b"\x1b[?2026l"
LONGEST_CUT = 256  # bytes of a sequence
CUT = re.compile(rb"(?:\x1b(?:\[[0-9;:?<>=]*)?|[\xc2-\xdf]|[\xe0-\xef][\x80-\xbf]?|[\xf0-\xf4][\x80-\xbf]{0,2})\Z")


class NotSeen(AssertionError):
    """An expected text did not come; the message holds the screen."""


class Terminal:
    """A program in a terminal of `rows` x `columns`; use it as a context manager."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        rows: int = 40,
        columns: int = 120,
        cwd: Path | None = None,
        controlling: bool = True,
        stderr: int | None = None,
        answers_after: bytes = b"",
        answers: Sequence[tuple[re.Pattern[bytes], bytes]] = (),
        kind: bytes = b"?62;22",
        cell: tuple[int, int] = (0, 0),
        anew: bool = False,
    ) -> None:
        """`anew`: the program starts as a user starts it, and is no copy (prefork.py). `answers_after`: the terminal
        answers nothing until it was sent these bytes. `answers`: and to what else. `kind`: what it says that it is.
        `cell`: the pixels of a cell, as far as it tells."""
        self.rows, self.columns = rows, columns
        self.screen = pyte.Screen(columns, rows)
        # The emulator knows no kitty keyboard or synchronized-output sequences and would print parts of them.
        self._stream = pyte.ByteStream(self.screen)
        self._rows = Rows(self.screen)
        self.raw = bytearray()
        self._fed = 0
        self._hung_up = False
        self._answers_after = answers_after
        light = env.get("COLORFGBG", "").endswith(";15")
        ground = b"\x1b]11;rgb:%s\x1b\\" % (b"ffff/ffff/ffff" if light else b"1a1a/1b1b/2626")
        self._queries = [(BACKGROUND, ground), *answers, *QUERIES, (KIND, b"\x1b[%sc" % kind)]
        self.cell = cell
        self._more = threading.Condition()
        self._read_all = self._stopped = False
        self._master, self._slave = pty.openpty()
        self._set_size()
        self.attributes_before = termios.tcgetattr(self._slave)
        streams = {"stdin": self._slave, "stdout": self._slave, "stderr": self._slave if stderr is None else stderr}
        words, copied = Copy.words(argv), copyable(env)
        self.process: subprocess.Popen[bytes]
        if words is not None and copied is not None and not anew:
            more = {"env": env, "cwd": cwd, "session": True, "controlling": controlling, **streams}
            self.process = Copy(copied, **words, **more)
        else:
            self.process = subprocess.Popen(
                list(argv),
                env=dict(env),
                cwd=cwd,
                start_new_session=True,
                preexec_fn=(lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0)) if controlling else None,
                **streams,
            )
        self._woken, self._waking = os.pipe()  # the reader ends once its other end is closed
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _set_size(self) -> None:
        pixels = self.columns * self.cell[0], self.rows * self.cell[1]
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", self.rows, self.columns, *pixels))

    def _read(self) -> None:
        tail, due = b"", b""
        while True:
            try:
                if self._woken in select.select([self._master, self._woken], [], [])[0]:
                    return
                data = os.read(self._master, 1 << 16)
            except OSError:
                return
            if not data:
                return
            seen = tail + data
            for query, answer in self._queries:
                if any(match.end() > len(tail) for match in query.finditer(seen)):
                    due += answer
            tail = seen[-64:]
            if due and self._answers_after in seen:
                self._answers_after = b""
                self.write(due)
                due = b""
            with self._more:
                self.raw += data
                if (last := self.raw.rfind(LAST, -len(data) - len(LAST))) >= 0:
                    del self.raw[last : last + len(LAST)]
                    self._read_all = True
                self._more.notify_all()

    def write(self, data: bytes) -> None:
        """Bytes as if typed."""
        while data:
            data = data[os.write(self._master, data) :]

    def type(self, text: str) -> None:
        """Types text, key by key as fast as it goes."""
        self.write(text.encode())

    def press(self, *keys: str) -> None:
        """Presses named keys (`enter`, `ctrl+t`, `x`), each a write of its own."""
        for key in keys:
            self.write(KEYS.get(key, key).encode())

    def paste(self, text: str) -> None:
        """A bracketed paste."""
        self.write(b"\x1b[200~" + text.encode() + b"\x1b[201~")

    def lose_focus(self) -> None:
        """Another window has the focus, and the program knows: the frame of the prompt has another colour then."""
        self.expect("╭")
        before = self._lowest_frame()
        self.write(b"\x1b[O")
        if not self.wait_until(lambda _: self._lowest_frame() != before):
            raise NotSeen(f"the loss of the focus never showed\n{self.text()}")

    def _lowest_frame(self) -> str:
        with self._more:
            rows = self._rows.now()
            framed = [y for y, row in enumerate(rows) if "╭" in row]
            return self.screen.buffer[framed[-1]][rows[framed[-1]].index("╭")].fg if framed else ""

    def resize(self, rows: int, columns: int) -> None:
        """The window changes its size."""
        with self._more:
            self._feed()
            self.rows, self.columns = rows, columns
            self.screen.resize(rows, columns)
        self._set_size()

    def whole(self) -> bytes:
        """All bytes up to the last whole frame: what stands behind it while the program runs may be cut anywhere."""
        return bytes(self.raw[: self._whole()])

    def _whole(self) -> int:
        if self.process.poll() is not None:
            return len(self.raw)
        started = self.raw.rfind(FRAME_START, self._fed)
        if started >= 0 and self.raw.find(FRAME_END, started) < 0:
            return started
        cut = CUT.search(self.raw, max(len(self.raw) - LONGEST_CUT, self._fed))
        return cut.start() if cut is not None else len(self.raw)

    def _feed(self) -> None:
        if self._fed < (whole := self._whole()):
            data = bytes(self.raw[self._fed : whole])
            self._fed = whole
            # Sequences with a private marker that pyte does not know end in text on its screen: left out.
            self._stream.feed(re.sub(rb"\x1b\[[<>=][0-9;]*[a-z]|\x1b\[\?2026[hl]|\x1b[_P][^\x1b]*\x1b\\", b"", data))

    def text(self) -> str:
        """The screen, a line a row, trailing blanks cut."""
        with self._more:
            self._feed()
            return "\n".join(self._rows.now())

    def wait_until(self, seen: Callable[[str], object]) -> bool:
        """Tell whether `seen(screen text)` became true."""
        return self.first(seen) is not None

    def first(self, seen: Callable[[str], object]) -> str | None:
        """Return the screen's text for which `seen` was true: the next look may find another. None if it never was."""
        end = time.monotonic() + PATIENCE
        while True:
            with self._more:
                count = len(self.raw)
            if seen(text := self.text()):
                return text
            left = end - time.monotonic()
            if left <= 0:
                return None
            with self._more:
                self._more.wait_for(lambda: len(self.raw) > count, min(left, 0.5))  # noqa: B023

    def expect(self, pattern: str) -> str:
        """The screen once it matches `pattern` (multi-line); fails with the screen when it never does."""
        regex = re.compile(pattern, re.MULTILINE)
        if (text := self.first(regex.search)) is not None:
            return text
        state = "running" if self.process.poll() is None else f"ended with {self.process.returncode}"
        raise NotSeen(f"never seen: {pattern} (the program is {state})\n{self.text()}")

    def expect_gone(self, pattern: str) -> str:
        """The screen once it no longer matches `pattern`."""
        regex = re.compile(pattern, re.MULTILINE)
        if (text := self.first(lambda text: not regex.search(text))) is not None:
            return text
        raise NotSeen(f"still there: {pattern}\n{self.text()}")

    def decide(self, key: str, named: str) -> None:
        """Presses a key of a board once it counts: till then, half a second after each change, its keys are faint.

        `named` is how the board names it, beginning with the key.
        """
        if not self.wait_until(lambda _: self.counts(named)):
            raise NotSeen(f"{named} never counted\n{self.text()}")
        self.press(key)

    def counts(self, text: str) -> bool:
        """Tell whether a key of a board counts, which shows in how the board names it."""
        with self._more:
            places = [(y, line.find(text)) for y, line in enumerate(self._rows.now())]
            return any(x >= 0 and self.screen.buffer[y][x].bold for y, x in places)

    def wait_exit(self) -> int:
        """The exit status, once the program has ended and its last bytes were read."""
        status = self.process.wait(PATIENCE)
        if self._reader.is_alive():
            os.write(self._slave, LAST)  # comes behind all that the program wrote
            with self._more:
                self._more.wait_for(lambda: self._read_all, PATIENCE)
        return status

    def signal(self, number: signal.Signals) -> None:
        """Sends the program a signal."""
        os.kill(self.process.pid, number)

    def left_to_read(self) -> bytes:
        """Return the bytes that the next program, the shell, would have as typed."""
        mode = termios.tcgetattr(self._slave)
        mode[3] &= ~termios.ICANON
        termios.tcsetattr(self._slave, termios.TCSANOW, mode)
        return os.read(self._slave, 1 << 16) if select.select([self._slave], [], [], 0)[0] else b""

    def left_changed(self) -> list[str]:
        """Return the terminal flags that the program did not put back, and the modes that are still on."""
        left = []
        now = termios.tcgetattr(self._slave)
        for index, name in enumerate(("iflag", "oflag", "cflag", "lflag")):
            if now[index] != self.attributes_before[index]:
                left.append(f"{name} changed")
        modes: dict[int, bool] = {}
        for numbers, switch in re.findall(rb"\x1b\[\?([0-9;]+)([hl])", bytes(self.raw)):
            modes.update(dict.fromkeys(map(int, numbers.split(b";")), switch == b"h"))
        left += [f"mode {mode} on" for mode in sorted(MODES_TO_RESTORE) if modes.get(mode)]
        if modes.get(25) is False:
            left.append("cursor hidden")
        if self.raw.count(b"\x1b[<u") != len(re.findall(rb"\x1b\[>[0-9]+u", self.raw)):
            left.append("keyboard protocol on")
        return left

    def hang_up(self) -> None:
        """The window is closed: the program's terminal is gone."""
        self.stop_reading()
        os.close(self._slave)
        os.close(self._master)
        self._hung_up = True

    def stop_reading(self) -> None:
        """The terminal takes no more bytes, as a frozen connection."""
        if not self._stopped:
            self._stopped = True
            os.close(self._waking)
            self._reader.join(PATIENCE)
            os.close(self._woken)

    def close(self) -> None:
        """Ends the program, by its id, if it still runs."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(PATIENCE)
        self.stop_reading()
        if not self._hung_up:
            os.close(self._master)
            os.close(self._slave)
