"""Say in words what the console is busy with, read from its owners when somebody looks. Only the pace of an answer is
kept here, since no other state has it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from console_app.console.talk.readiness import Readiness
from console_app.domain import CallState, amounts, event_news
from console_app.domain import events as ev
from console_app.domain.transcript import CallView, Transcript
from console_app.records import dataclass

if TYPE_CHECKING:
    from console_app.console.talk.conversation import Conversation

LATE = 30.0  # seconds without progress after which it takes longer than expected
RATED = 1.0  # seconds of writing before a rate says anything


@dataclass(frozen=True, slots=True)
class Doing:
    """An activity of the console in words. `moves` is true where the words change with time alone. The words count no
    calls, as each batch counts its own, and don't say what needs you, as the board does."""

    what: str
    stop: str = "stop"  # what the key that stops it does
    moves: bool = True
    late: bool = False
    tokens: int = 0  # of the turn so far, 0 while none are known
    cost: float | None = None


class Pace:
    """The pace at which an answer comes in, folded from events. `writes` is False while the model thinks."""

    def __init__(self) -> None:
        self.writes = False
        self.since = self.news_at = 0.0
        self.retry: ev.RetryScheduled | None = None
        self._characters = 0

    def heard(self, event: ev.Event) -> None:
        news = event_news.News.of(event)
        if news & event_news.News.WRITES:
            self._sign(event.at, writes=True, characters=len(event_news.text_of(event)))
        elif news & event_news.News.THINKS:
            self._sign(event.at, writes=False)
        elif news & event_news.News.BEGINS:
            self._begin(event.at, writes=False)
        elif event.type == "retry.scheduled" and not event.agent:
            self._begin(event.at + event.delay, writes=False)
            self.retry = event
        else:
            self.news_at = max(self.news_at, event.at)

    def rate(self, now: float) -> float | None:
        took = now - self.since
        return self._characters / amounts.CHARACTERS_A_TOKEN / took if self.writes and took >= RATED else None

    def _sign(self, at: float, *, writes: bool, characters: int = 0) -> None:
        if self.writes is not writes or self.retry is not None:
            self._begin(at, writes=writes)
        self.news_at = at
        self._characters += characters

    def _begin(self, at: float, *, writes: bool) -> None:
        self.writes, self.since, self.news_at = writes, at, at
        self.retry, self._characters = None, 0


class ActivityStatus:
    def __init__(self, conversation: Conversation, readiness: Readiness, transcript: Callable[[], Transcript]) -> None:
        self.pace = Pace()
        self._conversation = conversation
        self._readiness = readiness
        self._transcript = transcript

    def at(self, now: float) -> Doing | None:
        conversation = self._conversation
        if not conversation.busy:
            return None
        if (sent := conversation.on_its_way) is not None:
            if self._conversation.composing:
                what = "reading attachments"
            elif self._readiness.connecting:
                what = f"connecting {self._readiness.awaited}"
            else:
                what = "starting"
            return Doing(_timed(what, now - sent.since), stop="take back", late=now - sent.since >= LATE)
        tokens, cost = self._spent()
        if conversation.turn is not None and not conversation.turn.running:
            return Doing("stopping", tokens=tokens, cost=cost)
        pace, doing = self.pace, _calls(self._transcript(), now)
        if doing is None and pace.retry is not None and now < pace.since:
            doing = Doing(f"retrying in {_whole(pace.since - now + 0.5)}")  # the conversation says why, and which try
        if doing is None:
            activity = conversation.activity
            begun = now if activity is None else activity.begun_at  # its first event may wait for the disk
            doing = Doing(self._model(begun, now), late=now - max(pace.news_at, begun) >= LATE)
        return Doing(doing.what, moves=doing.moves, late=doing.late, tokens=tokens, cost=cost)

    def waits_for(self, now: float) -> str:
        sent = self._conversation.on_its_way
        if sent is None:
            return ""
        took = f", {_whole(now - sent.since)}" if now - sent.since >= 1 else ""
        if self._conversation.composing:
            return f"Reading attachments{took} · esc take back"
        if servers := self._readiness.connecting:
            without = "it" if len(servers) == 1 else "them"
            return f"Waiting for {self._readiness.awaited}{took} · enter starts without {without}"
        return f"Starting{took} · esc take back" if self._readiness.loading else ""

    def _model(self, begun: float, now: float) -> str:
        pace = self.pace
        if (beside := self._conversation.engine.beside) is not None:
            return _timed(beside[0], now - beside[1])
        if not pace.writes:
            return _timed("thinking", now - max(pace.since, begun))
        rate = pace.rate(now) if now - pace.news_at < LATE else None
        return "writing" if rate is None else f"writing · {rate:.0f} tok/s"

    def _spent(self) -> tuple[int, float | None]:
        turn = self._transcript().turn
        return (turn.tokens, turn.cost) if self._conversation.turn is not None and turn is not None else (0, None)


def _calls(transcript: Transcript, now: float) -> Doing | None:
    calls = transcript.open_calls.values()
    started = [call for call in calls if call.state is not CallState.ANNOUNCED or call.arguments is not None]
    if not started:
        return None
    below = _below(transcript)
    work = [call for call in started if not _waits_for_you(call, transcript, below)]
    if not work:
        return Doing("paused", moves=False)
    news = max((call.news_at for call in work if call.state is CallState.RUNNING), default=now)
    return Doing("working", late=now - news >= LATE)


def _below(transcript: Transcript) -> Mapping[str, Sequence[CallView]]:
    """The open calls that each call, a program, has made, by its id."""
    found = defaultdict[str, list[CallView]](list)
    for call in transcript.open_calls.values():
        found[call.parent].append(call)
    return found


def _waits_for_you(call: CallView, transcript: Transcript, below: Mapping[str, Sequence[CallView]]) -> bool:
    """Tell whether nothing goes on in a call until you decide; of an agent and of a program, in none of its calls."""
    if call.waits_for_you:
        return True
    if (agent := transcript.agents.get(call.runs)) is not None:
        transcript, below = agent, _below(agent)
        made = list(agent.open_calls.values())
    else:
        made = below.get(call.id, ())
    return bool(made) and all(_waits_for_you(one, transcript, below) for one in made)


def _timed(what: str, took: float) -> str:
    return f"{what} {_whole(took)}" if took >= 1 else what


def _whole(value: float) -> str:
    """`4 s`, `1 m 05 s`: a duration that is read while it grows."""
    whole = max(int(value), 0)
    return f"{whole} s" if whole < 60 else f"{whole // 60} m {whole % 60:02} s"
