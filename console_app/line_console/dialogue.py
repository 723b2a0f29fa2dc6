"""Says lines, and asks: a question is said, and the next line that is typed is its answer, one question at a time.

What was typed before a question was said is not its answer.
"""

from __future__ import annotations

import asyncio
import codecs
import json
import os
import select
import termios
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, Protocol

from console_app.domain import displayed, one_line, plural, safe_text, visible
from console_app.domain import schema as json_schema
from console_app.domain.schema import forms
from console_app.headless import OutputStreams

LEAVE = "."  # typed alone, leaves a question without an answer
MOST_LISTED = 30


class Dialogue:
    """Prints to one terminal, and asks questions there, one at a time, which the lines `typed` there answer."""

    def __init__(self, output: OutputStreams, typed: TypedLines) -> None:
        self.output = output
        self.typed = typed
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
            self.output.out(safe)
        else:
            self._held.append(safe)

    def end_line(self) -> None:
        """End the line on which the terminal shows a key, unless somebody else has the terminal."""
        if self._held is None:
            self.output.out("\n")

    @contextmanager
    def given_away(self) -> Generator[None]:
        """Leave the terminal to another program: nothing is read, and lines are held back and printed after that."""
        self._held = []
        self.typed.stop_listening()
        try:
            yield
        finally:
            self.typed.listen()
            held, self._held = self._held, None
            for text in held:
                self.output.out(text)

    # Asking

    @property
    def asks(self) -> bool:
        return self._answer is not None and not self._answer.done()

    def take(self, line: str, number: int) -> bool:
        """Gives a line to the question that waits for one; False when none does, or the line is older."""
        if self._answer is None or self._answer.done() or number <= self._asked_at:
            return False
        self.opened.clear()
        self._answer.set_result(None if line.strip() == LEAVE else line)
        return True

    def leave(self) -> bool:
        return self.take(LEAVE, self._asked_at + 1)

    async def ask(self, question: str, *, secret: bool = False) -> str | None:
        """Return the typed line, None where the question was left. The terminal doesn't show a `secret` one."""
        async with self._turns:
            await self.output.drain()
            with self.typed.unseen() if secret else nullcontext():
                self._asked_at = self.typed.newest()
                self.say(question)
                self._answer = asyncio.get_running_loop().create_future()
                self.opened.set()
                try:
                    return await self._answer
                finally:
                    self.opened.clear()
                    self._answer = None

    async def choose(self, title: str, options: Mapping[str, str]) -> str | None:
        """Let the user choose one of `options` (value: description), by number or by words that only one has."""
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


NOTHING = "-"  # typed alone, leaves a value out


class LineAsker(Protocol):
    """A face that says a text, and asks for a line; None where that was left."""

    def say(self, text: str) -> None: ...

    async def ask(self, question: str, /, *, secret: bool = False) -> str | None: ...


async def fill_in(dialogue: LineAsker, fields: Sequence[forms.Field], now: Mapping[str, Any]) -> dict[str, Any] | None:
    """Ask for the values, beginning with those of `now`; None where that was left. Values without a field stay."""
    values = {name: value for name, value in now.items() if name not in {field.name for field in fields}}
    if fields:
        dialogue.say(
            f"{plural(len(fields), 'value')}. An empty line keeps what is there, {NOTHING} alone leaves a value unset."
        )
    for place, field in enumerate(fields, 1):
        known = now.get(field.name, field.default)
        typed = await _value(dialogue, field, known, f"{place} of {len(fields)}")
        if typed is None:
            return None
        if typed[0] is not None:
            values[field.name] = typed[0]
    return values


async def _value(dialogue: LineAsker, field: forms.Field, known: Any, place: str) -> tuple[Any] | None:
    question = f"{place}: {_question(field, known)}"
    while (line := await dialogue.ask(question, secret=field.secret)) is not None:
        value: Any = None
        try:
            value = known if line == "" else None if line.strip() == NOTHING else _read(field, line)
        except ValueError as error:
            problem = str(error)
        else:
            problem = field.problem(value) if value is not None or field.required else ""
        if not problem:
            return (value,)
        question = f"{one_line(field.title or field.name, 60)} {problem}. Again:"
    return None


def _question(field: forms.Field, known: Any) -> str:
    words = [one_line(field.title or field.name, 80) + (", required" if field.required else ", optional")]
    if field.about:
        words.append(one_line(field.about, 300))
    match field.kind:
        case "switch":
            words.append("boolean: yes or no")
        case "choice" | "choices" if field.choices:
            named = ", ".join(f"{n} {one_line(label, 60)}" for n, label in enumerate(_labels(field), 1))
            words.append(f"{'one of' if field.kind == 'choice' else 'any of, with commas'}: {named}")
        case "number" | "integer":
            words.append("a number")
        case "text" | "lines":
            pass
        case _:
            words.append("as JSON")
    if field.secret:
        words.append("What you type is not shown")
    elif known is not None:
        return f"{'. '.join(words)}. Now:\n{displayed.as_text(displayed.named_lines('', safe_text.as_text(known)))}"
    return ". ".join(words) + "."


def _read(field: forms.Field, line: str) -> Any:
    """Return the value that a line means. Raises ValueError, whose words say what it must be."""
    word = line.strip()
    match field.kind:
        case "switch":
            if word.casefold() not in ("y", "yes", "true", "n", "no", "false"):
                raise ValueError("must be yes or no")
            return word.casefold() in ("y", "yes", "true")
        case "choice":
            return _chosen(field, word)
        case "choices" if field.choices:
            return [_chosen(field, one.strip()) for one in word.split(",") if one.strip()]
        case "number" | "integer":
            try:
                return int(word) if word.lstrip("+-").isdecimal() else float(word)
            except ValueError:
                raise ValueError("must be a number") from None
        case "text" | "lines":
            return line
        case _:
            return _json(field, line)


def _labels(field: forms.Field) -> Sequence[str]:
    return field.labels or tuple(map(safe_text.as_text, field.choices))


def _chosen(field: forms.Field, word: str) -> Any:
    if word.isdecimal() and 1 <= int(word) <= len(field.choices):
        return field.choices[int(word) - 1]
    for value, label in zip(field.choices, _labels(field), strict=True):
        if word.casefold() in (safe_text.as_text(value).casefold(), label.casefold()):
            return value
    raise ValueError("must be one of the choices")


def _json(field: forms.Field, line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError as error:
        if field.kind == "json" and not {"object", "array"}.issuperset(json_schema.types(field.schema) or ("string",)):
            return line  # a text is one of the things that it may be
        raise ValueError(f"must be JSON ({error})") from None


class TypedLines:
    """Reads the lines that are typed on one descriptor. `next` returns a line, or None at the end (Ctrl+D, or a
    terminal that is gone). Lines are counted by their beginning, and `number` is that of the line which was returned
    last."""

    def __init__(self, descriptor: int = 0) -> None:
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._begun = ""  # of a line whose end has not come
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._arrived = 0
        self._given = 0
        self._listening = False
        self.number = 0

    def __enter__(self) -> TypedLines:
        self.listen()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop_listening()

    @contextmanager
    def unseen(self) -> Generator[None]:
        """Keep the terminal, where it is one, from showing what is typed."""
        if not os.isatty(self._descriptor):
            yield
            return
        before = termios.tcgetattr(self._descriptor)
        unseen = [*before[:3], before[3] & ~termios.ECHO, *before[4:]]
        termios.tcsetattr(self._descriptor, termios.TCSADRAIN, unseen)
        try:
            yield
        finally:
            termios.tcsetattr(self._descriptor, termios.TCSADRAIN, before)

    @property
    def shows_interrupts(self) -> bool:
        """Tell whether the terminal shows a Ctrl+C as `^C`, and the cursor stands behind it."""
        if not os.isatty(self._descriptor):
            return False
        shown = termios.ECHO | termios.ECHOCTL
        return termios.tcgetattr(self._descriptor)[3] & shown == shown

    def newest(self) -> int:
        """Return the number of the newest line that is typed by now, read or not: later lines have higher ones."""
        while self._listening and self._read():
            pass
        return self._arrived

    async def next(self) -> str | None:
        """Return the next line; one that ends in a backslash goes on in the line behind it."""
        parts: list[str] = []
        while (line := await self._lines.get()) is not None:
            self._given += 1
            if not parts:
                self.number = self._given
            if not line.endswith("\\"):
                return "\n".join((*parts, line))
            parts.append(line[:-1])
        return None

    def _read(self) -> bool:
        """Read the text typed so far. Return False where there is none, as when `newest` took it before."""
        if not select.select([self._descriptor], [], [], 0)[0]:
            return False
        try:
            data = os.read(self._descriptor, 65536)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self.stop_listening()
            self._lines.put_nowait(None)
            return True
        *whole, self._begun = (self._begun + self._decoder.decode(data)).split("\n")
        self._arrived += len(whole)
        for line in whole:
            self._lines.put_nowait(line.removesuffix("\r"))
        return True

    def listen(self) -> None:
        self._loop.add_reader(self._descriptor, self._read)
        self._listening = True

    def stop_listening(self) -> None:
        self._loop.remove_reader(self._descriptor)
        self._listening = False
