"""A front end that writes down what it is shown and told, and answers what it is asked as a test said it would."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence

from console_app.console.talk.conversation import Conversation
from console_app.console.ui_port import UiPort
from console_app.domain import events as ev
from console_app.domain.transcript import Transcript


class Screen(UiPort):
    """A UiPort. `field` is the prompt's; an event for which `breaks` is true can't be shown."""

    def __init__(self) -> None:
        self.events: list[ev.Event] = []
        self.stored: list[ev.Event] = []
        self.cleared = 0
        self.told: list[tuple[str, str]] = []
        self.toasts: list[str] = []
        self.questions: list[str] = []
        self.answers: deque[str | asyncio.Future[str | None] | None] = deque()
        self.field = ""
        self.breaks: Callable[[ev.Event], bool] = lambda _: False
        self.react: Callable[[ev.Event], None] = lambda _: None
        self._news = asyncio.Event()

    async def until(self, fact: Callable[[], object]) -> None:
        """Returns when `fact` holds; it is looked at whenever something happened."""
        while not fact():
            self._news.clear()
            await self._news.wait()

    async def sees(self, kind: type[ev.Event], number: int = 1) -> None:
        """Returns when so many events of a type were shown."""
        await self.until(lambda: len([event for event in self.events if isinstance(event, kind)]) >= number)

    @property
    def transcript(self) -> Transcript:
        return Transcript.of([*self.stored, *self.events])

    @property
    def prompts(self) -> list[str]:
        """The prompts of the turns that began."""
        return [event.prompt for event in self.events if isinstance(event, ev.TurnStarted)]

    @property
    def endings(self) -> list[str]:
        """The outcomes of the turns that ended."""
        return [event.outcome for event in self.events if isinstance(event, ev.TurnFinished)]

    def show(self, event: ev.Event) -> None:
        if self.breaks(event):
            raise ZeroDivisionError("a block can't be drawn")
        self.events.append(event)
        self.react(event)
        self._news.set()

    async def next_slice(self) -> None:
        await asyncio.sleep(0)

    async def show_stored(self, events: Sequence[ev.Event]) -> None:
        self.stored = list(events)
        self._news.set()

    def show_new(self) -> None:
        self.cleared += 1

    def changed(self) -> None:
        self._news.set()

    def tell(self, level: ev.Level, text: str) -> None:
        self.told.append((level, text))
        self._news.set()

    def toast(self, text: str, seconds: float = 4) -> None:
        self.toasts.append(text)
        self._news.set()

    async def choose(self, title: str, options: Mapping[str, str], *, current: str = "") -> str | None:
        answer = await self._answer(title)
        assert answer is None or answer in options
        return answer

    async def ask(self, title: str, hint: str = "") -> str | None:
        return await self._answer(title)

    async def _answer(self, title: str) -> str | None:
        self.questions.append(title)
        self._news.set()
        answer = self.answers.popleft()
        return await answer if isinstance(answer, asyncio.Future) else answer

    async def trusts(self, text: str) -> bool:
        return await self._answer(text) == "y"

    def give_back(self, text: str) -> bool:
        if self.field:
            return False
        self.field = text
        return True


class Memory:
    """A store that keeps events in a list; `fails` is raised in place of storing."""

    def __init__(self) -> None:
        self.events: list[ev.Event] = []
        self.fails: Exception | None = None

    async def append(self, events: Sequence[ev.Event]) -> None:
        await asyncio.sleep(0)
        if self.fails is not None:
            raise self.fails
        self.events.extend(events)


def consistent(conversation: Conversation, screen: Screen) -> None:
    """The events that were shown add up to what the engine knows, and nothing is open."""
    shown, known = Transcript.of(screen.events), conversation.engine.transcript
    assert shown.history == known.history
    assert not shown.open_calls
    assert not known.open_calls
    assert [turn.outcome for turn in shown.turns] == [turn.outcome for turn in known.turns]
