"""Session files as they are used, every damage that is done to them, and how much of what is whole comes back."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from console_app.domain import events as ev
from console_app.sessions import Store
from console_app.sessions.salvage import Wreck
from tests.sessions.test_store import TURN, numbered

PAGE = 4096
FLIPS = 40
SESSIONS = 5
DELETED = f"session{SESSIONS}"


async def used(path: Path) -> None:
    """A session file that was used: long results, a title, drafts of an answer that runs, one session deleted."""
    store = Store(path, folder="/somewhere")
    chance = random.Random(7)
    for number in range(SESSIONS + 1):
        for turn in range(6):
            events: list[ev.Event] = []
            for event in numbered(*TURN, session=f"session{number}"):
                long = "long result " * chance.choice((0, 10, 100, 900)) if isinstance(event, ev.CallFinished) else ""
                seq = turn * 30 + event.seq
                changed = {"turn": turn + 1, "seq": seq} | ({"content": long} if long else {})
                events.append(event.model_copy(update=changed))
            await store.append(events)
    await store.rename("session1", "Mine")
    at = {"session_id": "session2", "turn": 9, "step": 1}
    await store.append([ev.TurnStarted(**at, seq=900, prompt="and now"), ev.StepStarted(**at, seq=901)])
    await store.append([ev.TextDelta(**at, seq=902, text="Hello")])
    await store.delete(DELETED)
    await store.close()


@dataclass(frozen=True, slots=True)
class Damage:
    """The harm to a file of `size` bytes, and the pages, from 1, that it touches."""

    name: str
    kind: str  # cut, zeroed or flipped
    at: int  # the byte behind which it is cut, or the page

    def do(self, path: Path) -> None:
        """Does it to the file at `path`."""
        with path.open("r+b") as file:
            if self.kind == "cut":
                file.truncate(self.at)
            elif self.kind == "zeroed":
                file.seek((self.at - 1) * PAGE)
                file.write(bytes(PAGE))
            else:
                chance = random.Random(self.name)
                for _ in range(8):
                    file.seek(place := (self.at - 1) * PAGE + chance.randrange(PAGE))
                    [byte] = file.read(1)
                    file.seek(place)
                    file.write(bytes([byte ^ 1 << chance.randrange(8)]))

    def spares(self, page: int) -> bool:
        """Tell whether a page is as it was."""
        return page * PAGE <= self.at if self.kind == "cut" else page != self.at


def damages(size: int) -> Iterator[Damage]:
    """All that are done to a file of `size` bytes."""
    pages = size // PAGE
    for percent in range(1, 100):
        yield Damage(f"cut at {percent} %", "cut", size * percent // 100)
    for page in range(1, pages + 1):
        yield Damage(f"page {page} zeroed", "zeroed", page)
    for flip in range(FLIPS):
        page = 1 + flip * pages // FLIPS
        yield Damage(f"bits of page {page} flipped ({flip})", "flipped", page)


def standing_on(path: Path) -> dict[tuple[str, int], tuple[str, set[int]]]:
    """The events of a whole file by session and `seq`: the body, and the pages it stands on."""
    found: dict[tuple[str, int], tuple[str, set[int]]] = {}
    with Wreck(path) as wreck:
        for session_id in wreck.session_ids():
            for seq, places in wreck.places(session_id).items():
                pages: list[int] = []
                _, _, body = wreck.pages.record(places[0], pages)
                found[session_id, seq] = str(body), set(pages)
    return found


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of one damage: the events whose pages are whole, and those of them that came back."""

    damage: Damage
    whole: int
    back: int

    @property
    def share(self) -> float:
        return self.back / self.whole if self.whole else 1.0


async def outcome(file: Path, damage: Damage, folder: Path) -> Outcome:
    """Damages a copy of `file` in `folder` and opens every session that was in it, as a console does."""
    path = folder / "sessions.db"
    shutil.copy(file, path)
    there = standing_on(file)
    damage.do(path)
    store = Store(path)
    await store.append([ev.Notice(session_id="new", seq=1, text="the conversation goes on")])
    assert store.problem is None, (damage, store.problem)
    back: dict[tuple[str, int], str] = {}
    for session_id in dict.fromkeys(session_id for session_id, _ in there):
        back.update(((session_id, event.seq), event.model_dump_json()) for event in await store.load(session_id))
    assert [event.seq for event in await store.load("new")] == [1]
    assert not await store.load(DELETED), (damage, "what was deleted is back")
    await store.close()
    whole = [key for key, (_, pages) in there.items() if all(damage.spares(page) for page in pages)]
    return Outcome(damage, len(whole), sum(back.get(key) == there[key][0] for key in whole))
