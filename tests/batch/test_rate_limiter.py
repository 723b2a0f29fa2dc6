"""Each endpoint has one limiter: a refusal holds everybody back, and headers say how much fits."""

from __future__ import annotations

import asyncio

import pytest

from console_app.providers.endpoint.rate_limiter import RateLimiter
from tests.each import each
from tests.tui.quiet import quiet


class Clock:
    """Time that passes when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        await asyncio.sleep(0)


async def test_a_refusal_holds_everybody_back_until_its_time() -> None:
    clock = Clock()
    limiter = RateLimiter(clock, clock.sleep)
    limiter.refused(30)
    assert limiter.paused == 30
    began: list[float] = []

    async def one() -> None:
        async with limiter.request():
            began.append(clock.now)

    await asyncio.gather(*(one() for _ in range(5)))
    assert min(began) >= 130


async def test_after_a_refusal_half_as_many_run_and_each_end_lets_in_more() -> None:
    clock = Clock()
    limiter = RateLimiter(clock, clock.sleep)
    running, most, gate = 0, 0, asyncio.Event()

    async def one() -> None:
        nonlocal running, most
        async with limiter.request():
            running += 1
            most = max(most, running)
            await gate.wait()
            running -= 1

    first = [asyncio.create_task(one()) for _ in range(8)]
    await quiet()
    assert running == 8
    limiter.refused(1)
    limiter.refused(1)  # of the same moment: it counts once
    gate.set()
    await asyncio.gather(*first)
    gate.clear()
    most = 0
    second = [asyncio.create_task(one()) for _ in range(8)]
    await quiet()
    assert 4 <= most < 8
    gate.set()
    await asyncio.gather(*second)


@each(
    ("headers", "paused"),
    [
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1m3s"}, 60),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "250ms"}, 0.25),
        ({"x-ratelimit-remaining-requests": "1", "x-ratelimit-reset-requests": "9s"}, 0),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "soon"}, 0),
        (
            {
                "anthropic-ratelimit-requests-remaining": "0",
                "anthropic-ratelimit-requests-reset": "2001-01-01T00:00:00Z",
            },
            0,
        ),
    ],
)
def test_headers_that_say_nothing_is_left_hold_back(headers: dict[str, str], paused: float) -> None:
    limiter = RateLimiter(Clock())
    limiter.learned(headers)
    assert limiter.paused == pytest.approx(paused)


async def test_what_fits_is_what_the_minute_allows_at_the_speed_there_is() -> None:
    clock = Clock()
    limiter = RateLimiter(clock, clock.sleep)
    assert limiter.fits is None
    limiter.learned({"x-ratelimit-limit-requests": "600", "ratelimit-limit": "30"})
    async with limiter.request():
        clock.now += 2.0
    assert limiter.fits == 20  # ten a second, each of two seconds
    limiter.learned({"anthropic-ratelimit-requests-limit": "30"})
    assert limiter.fits == 1
