"""What the keys of a call's panel do to the call: in its open batch where it is, else as a run of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from console_app.domain.errors import FanoutError
from console_app.domain.transcript_parts import Call
from console_app.tui.turn_driver import TurnDriver


class PanelKeys:
    """Of one chat screen; `toast` says what can't be done now, and why."""

    def __init__(self, driver: TurnDriver, toast: Callable[[str], None], now: Callable[[], float]) -> None:
        self._driver = driver
        self._toast = toast
        self._now = now

    def cancel(self, call: Call) -> None:
        """Ends the call; its siblings live."""
        if self._driver.activity is not None:
            self._driver.activity.cancel_call(call.id)

    def run_again(self, call: Call, arguments: dict[str, Any] | None = None) -> None:
        """Runs it again, as it was or with other arguments (which is an approval)."""
        turn = self._driver.turn
        if turn is not None:
            done = turn.retry(call.id) if arguments is None else turn.edit_and_run(call.id, arguments)
            if not done:
                self._toast("That call's answer has gone to the model. It can run again once the turn has ended.")
        elif self._driver.busy:
            self._toast("A call is running again already. This one can after it.")
        else:
            try:
                self._driver.rerun(call.id, arguments)
            except FanoutError as error:
                self._toast(error.line)

    def extend(self, call: Call) -> None:
        """Gives it its whole time again."""
        if self._driver.turn is not None and self._driver.turn.extend_call(call.id):
            call.news_at = max(call.news_at, self._now())
            self._toast("It has its whole time again.")

    def send_now(self) -> None:
        """The results that are there go to the model; the other calls end as interrupted."""
        turn = self._driver.turn
        if turn is None:
            self._toast("No answer waits for this call: it runs again by itself.")
        elif not turn.send_now():
            self._toast("The answer still streams: more calls may come. Then s sends what there is.")
