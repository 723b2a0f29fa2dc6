"""Says lines, and asks: a question is said, and the next line that is typed is its answer, one question at a time.

What was typed before a question was said is not its answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext

from console_app.domain import one_line, visible
from console_app.headless import OutputStreams

LEAVE = "."  # typed alone, leaves a question without an answer
MOST_LISTED = 30


class Dialogue:
    """Prints to one terminal, and asks questions there, one at a time.

    `newest` returns the number of the newest line that was typed. Within `unseen`, the terminal doesn't show what is
    typed.
    """

    def __init__(
        self, output: OutputStreams, newest: Callable[[], int], unseen: Callable[[], AbstractContextManager[None]]
    ) -> None:
        self._output = output
        self._unseen = unseen
        self.newest = newest
        self._held: list[str] | None = None  # what is to be said once the terminal is ours again
        self._turns = asyncio.Lock()
        self._answer: asyncio.Future[str | None] | None = None
        self._asked_at = 0  # the newest line when the question was said
        self.opened = asyncio.Event()  # set while a question waits for its line

    # Saying

    def say(self, text: str) -> None:
        """Print lines, whoever wrote them. Signs that could move or hide something are made visible."""
        safe = visible(text).rstrip("\n") + "\n"
        if self._held is None:
            self._output.out(safe)
        else:
            self._held.append(safe)

    def end_line(self) -> None:
        """End the line on which the terminal shows a key, unless somebody else has the terminal."""
        if self._held is None:
            self._output.out("\n")

    def send_raw(self, sequence: str) -> None:
        """A sequence of our own to the terminal."""
        self._output.out(sequence)

    async def keeps_up(self) -> None:
        """Returns when the terminal takes more."""
        await self._output.drain()

    @contextmanager
    def silent(self) -> Generator[None]:
        """Hold lines back while another program has the terminal, and print them after that."""
        self._held = []
        try:
            yield
        finally:
            held, self._held = self._held, None
            for text in held:
                self._output.out(text)

    # Asking

    @property
    def asks(self) -> bool:
        """Tell whether a question waits for its line."""
        return self._answer is not None and not self._answer.done()

    def take(self, line: str, number: int) -> bool:
        """Gives a line to the question that waits for one; False when none does, or the line is older."""
        if self._answer is None or self._answer.done() or number <= self._asked_at:
            return False
        self.opened.clear()
        self._answer.set_result(None if line.strip() == LEAVE else line)
        return True

    def leave(self) -> bool:
        """Leaves the question that waits; False when none does."""
        return self.take(LEAVE, self._asked_at + 1)

    async def ask(self, question: str, *, secret: bool = False) -> str | None:
        """Return the typed line, None where the question was left. The terminal doesn't show a `secret` one."""
        async with self._turns:
            await self.keeps_up()
            with self._unseen() if secret else nullcontext():
                self._asked_at = self.newest()
                self.say(question)
                self._answer = asyncio.get_running_loop().create_future()
                self.opened.set()
                try:
                    return await self._answer
                finally:
                    self.opened.clear()
                    self._answer = None

    async def choose(self, title: str, options: Mapping[str, str]) -> str | None:
        """Let the user choose one of `options`, each a value with its description: by number, or by words that only one
        has."""
        names = list(options)
        listed: Sequence[str] = names
        while listed:
            self._list(title, names, listed, options)
            typed = await self.ask("Type a number, or words of one. A full stop alone leaves.")
            if typed is None or not (wanted := typed.strip().casefold()):
                return None
            if wanted.isdecimal():
                if 1 <= int(wanted) <= len(names):
                    return names[int(wanted) - 1]
                self.say(f"There is no number {int(wanted)}.")
                continue
            exact = [name for name in names if name.casefold() == wanted]
            hits = exact or [name for name in names if wanted in f"{name} {options[name]}".casefold()]
            if len(hits) == 1:
                return hits[0]
            if not hits:
                self.say(f"Nothing has {one_line(typed, 60)}.")
            listed = hits or names
        self.say(f"{one_line(title, 200)}: there is nothing to choose.")
        return None

    async def agrees(self, question: str) -> bool:
        """Ask a question, and tell whether yes was typed."""
        typed = await self.ask(f"{question} Type yes or no.")
        return typed is not None and typed.strip().casefold() in ("y", "yes")

    def _list(self, title: str, names: Sequence[str], listed: Sequence[str], options: Mapping[str, str]) -> None:
        self.say(one_line(title, 300))
        for name in listed[:MOST_LISTED]:
            about = options[name]
            words = f"{one_line(name, 120)}: {one_line(about, 200)}" if about else one_line(name, 200)
            self.say(f"  {names.index(name) + 1}. {words}")
        if (more := len(listed) - MOST_LISTED) > 0:
            self.say(f"  and {more} more. Words make the list shorter.")
