"""An event loop whose clock jumps to the next timer instead of waiting for it: deadlines of minutes pass at once, the
order of things is the same every time, and a program that would wait for ever fails with `Deadlock` at once."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Deadlock(RuntimeError):
    """Nothing is ready, no timer is set: somebody waits for what can't come."""


class _Selector(selectors.SelectSelector):
    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise Deadlock
        if timeout > 0:
            self.now += timeout
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """See the module. `at_tick` calls back before the n-th round of the loop, which is between any two steps."""

    def __init__(self, at_tick: dict[int, Callable[[], None]] | None = None) -> None:
        self._virtual = _Selector()
        super().__init__(self._virtual)
        self.at_tick = at_tick or {}
        self.ticks = 0

    def time(self) -> float:
        return self._virtual.now

    def run_in_executor(self, executor: Any, func: Callable[..., T], *args: Any) -> asyncio.Future[T]:  # type: ignore[override]
        """Do at once what would be done in a thread, so that the order of things stays the same."""
        done = self.create_future()
        try:
            done.set_result(func(*args))
        except Exception as error:
            done.set_exception(error)
        return done

    def _run_once(self) -> None:
        self.ticks += 1
        if callback := self.at_tick.get(self.ticks):
            self.call_soon(callback)
        super()._run_once()  # type: ignore[misc]


async def at_rest() -> None:
    """Returns on such a loop when all else waits for somebody, or for a time far off: nobody waits a second for it."""
    await asyncio.sleep(1)


def run(work: Callable[[], Coroutine[Any, Any, T]], at_tick: dict[int, Callable[[], None]] | None = None) -> T:
    """Runs `work` to its end on a loop of its own, on which no task may fail without anybody who asks for its end."""
    tasks: list[asyncio.Task[Any]] = []

    def noted(loop: asyncio.AbstractEventLoop, coroutine: Any, **more: Any) -> asyncio.Task[Any]:
        tasks.append(asyncio.Task(coroutine, loop=loop, **more))
        return tasks[-1]

    with asyncio.Runner(loop_factory=lambda: VirtualLoop(at_tick)) as runner:
        runner.get_loop().set_task_factory(noted)
        result = runner.run(work())
    unasked = [task for task in tasks if task.done() and task._log_traceback]  # type: ignore[attr-defined]
    assert not [task.exception() for task in unasked]
    return result
