"""The garbage collector and what lives on: nothing is looked through twice, and what is left behind goes in the end."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from console_app.console.talk.sessions import Collector, FullLooks, full_looks


class Ring:
    """Garbage that only a look finds, once nothing else holds it."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    yield
    full_looks.froze = False
    gc.collect()
    gc.freeze()


def looked(looks: FullLooks) -> None:
    gc.callbacks.append(looks)
    try:
        gc.collect()
    finally:
        gc.callbacks.remove(looks)


def test_what_took_long_to_look_through_is_not_looked_through_again() -> None:
    rings = [Ring() for _ in range(100)]
    looks = FullLooks(longest=0.0)
    looked(looks)
    assert looks.froze
    assert not any(one is rings for one in gc.get_objects())
    ended = weakref.ref(rings[0])
    rings.clear()
    gc.collect()
    assert ended() is not None


def test_what_did_not_take_long_is() -> None:
    rings = [Ring() for _ in range(100)]
    looks = FullLooks(longest=3600.0)
    looked(looks)
    ended = weakref.ref(rings.pop())
    assert not looks.froze
    gc.collect()
    assert ended() is None


def test_it_goes_when_another_session_is_opened() -> None:
    rings = [Ring() for _ in range(100)]
    looked(FullLooks(longest=0.0))
    full_looks.froze = True
    ended = weakref.ref(rings.pop())
    collector = Collector()
    collector.session_opened(is_long=False)
    assert ended() is None
    assert not full_looks.froze
    collector.session_opened(is_long=False)
    assert gc.get_freeze_count() > 1000, "the program itself is not looked through"
