"""What running calls said of themselves while nobody could follow: of each call the newest, and how much it stands for.

Progress and log lines are the only events that a newer one makes up for.
"""

from __future__ import annotations

from typing import NamedTuple

from console_app.domain import events as ev

CallNews = ev.CallProgress | ev.CallLog


class _Held(NamedTuple):
    newest: CallNews
    dropped: int  # that it took the place of
    news: bool  # of any of them

    def told(self) -> CallNews:
        return self.newest.model_copy(update={"dropped": self.dropped, "news": self.news})


class HeldNews:
    """The newest progress and the newest line of each call, in the order in which they came."""

    def __init__(self) -> None:
        self._newest: dict[tuple[str, type[CallNews]], _Held] = {}

    def __len__(self) -> int:
        return len(self._newest)

    def hold(self, news: CallNews) -> None:
        """Keeps it in place of what the same call said before in the same way."""
        key = (news.call_id, type(news))
        before = self._newest.pop(key, None)
        if before is None:
            self._newest[key] = _Held(news, news.dropped, news.news)
        else:
            self._newest[key] = _Held(news, before.dropped + 1 + news.dropped, before.news or news.news)

    def of_call(self, call_id: str) -> list[CallNews]:
        """What is held of a call, which is held no longer."""
        return [self._newest.pop(key).told() for key in list(self._newest) if key[0] == call_id]

    def take(self) -> list[CallNews]:
        """All that is held, which is held no longer."""
        taken = [held.told() for held in self._newest.values()]
        self._newest.clear()
        return taken
