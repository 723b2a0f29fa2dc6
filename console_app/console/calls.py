"""Act on a single call: cancel it, run it again, give it more time, or answer what it asks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from console_app.console.talk.conversation import SHOWN
from console_app.console.ui_port import UiPort
from console_app.domain import FanoutError, call_description, one_line
from console_app.domain.transcript import GO_ON
from console_app.engine import ManualCall

if TYPE_CHECKING:
    from console_app.console.talk.conversation import Conversation

NOT_ASKED = "That question isn't open any more."
NOT_SHOWN = "No answer of this conversation showed a call that it didn't make."
NOT_CUT = "No call of the last turn was cut off."
OCCUPIED = "Something else is about to run. The call can run again after it."


class Calls:
    def __init__(self, conversation: Conversation, ui: UiPort) -> None:
        self._conversation = conversation
        self._ui = ui

    def cancel(self, call_id: str) -> None:
        if not self._may(call_id, call_description.Act.CANCEL) or self._conversation.engine.background.cancel_call(
            call_id
        ):
            return
        if (running := self._conversation.calls_of) is not None:
            running.cancel_call(call_id)

    def background(self, call_id: str) -> None:
        turn = self._conversation.turn
        if not self._may(call_id, call_description.Act.BACKGROUND):
            return
        if turn is not None and turn.detach_call(call_id):
            self._ui.toast("The call goes on in the background. The model reads its result when it is there.")
        else:
            alone = "No answer waits for this call: it runs by itself already."
            self._ui.toast(alone if turn is None else call_description.WAITED_FOR)

    def newest_to_background(self) -> None:
        calls = reversed(self._ui.transcript.open_calls.values())
        background = call_description.Act.BACKGROUND
        able = (call for call in calls if not call.agent and not call_description.refusal(call, background))
        if (call := next(able, None)) is None:
            self._ui.toast("No call is running that could go on in the background.")
        else:
            self.background(call.id)

    def run_again(self, call_id: str, arguments: dict[str, Any] | None = None) -> None:
        self._conversation.once_settled(partial(self._run_again, call_id, arguments))

    def _run_again(self, call_id: str, arguments: dict[str, Any] | None) -> None:
        conversation, turn = self._conversation, self._conversation.turn
        if not self._may(call_id, call_description.Act.RETRY if arguments is None else call_description.Act.EDIT):
            return
        if turn is not None:
            done = turn.retry(call_id) if arguments is None else turn.edit_and_run(call_id, arguments)
            if not done:
                self._ui.toast("That call's answer has gone to the model. It can run again once the turn has ended.")
        elif conversation.busy:
            again = conversation.calls_of is not None
            self._ui.toast("A call is running again already. This one can after it." if again else OCCUPIED)
        else:
            conversation.once_ready(partial(self._rerun, lambda: conversation.rerun(call_id, arguments)))

    def _rerun(self, begin: Callable[[], Sequence[str]]) -> None:
        try:
            left_out = begin()
        except FanoutError as error:
            self._ui.toast(error.line)
            return
        for line in left_out:
            self._ui.toast(line)

    def run_cut_off_again(self) -> None:
        """Run the calls of the last turn that were cut off again; each asks. Without any, its message is sent again."""
        self._conversation.once_settled(self._run_cut_off_again)

    def _run_cut_off_again(self) -> None:
        transcript = self._conversation.engine.transcript
        turn, message = transcript.turn, transcript.unanswered
        cut_off = [] if turn is None else [call.id for call in turn.cut_off]
        if self._conversation.busy or not (cut_off or message):
            broke = turn is not None and turn.broke_off and not self._conversation.busy
            self._ui.toast(OCCUPIED if cut_off else GO_ON if broke else NOT_CUT)
            return
        if message is not None:
            self._conversation.send_again(message)
            return
        self._conversation.once_ready(partial(self._rerun, lambda: self._conversation.rerun_all(cut_off)))

    def run_shown(self, typed: str = "") -> None:
        """Send the newest call that was only shown, or a typed one, as a turn of its own, which asks."""
        conversation, shown = self._conversation, self._conversation.engine.transcript.shown_call
        if typed:
            conversation.send(f"{SHOWN}{typed}")
            return
        if shown is None:
            self._ui.toast(NOT_SHOWN)
            return
        spec = next((one for one in conversation.engine.toolset.tools() if one.name == shown.name), None)
        if spec is None:
            self._ui.toast(f"The tool {one_line(shown.name, 60)} of the call that was shown is not on.")
        elif shown.arguments is None:
            self._ui.toast(f"The arguments of the call that was shown can't be read: /call {spec.label} asks for them.")
        else:
            conversation.send(f"{SHOWN}{ManualCall(spec.label, shown.arguments)}")

    def extend(self, call_id: str) -> None:
        running = self._conversation.calls_of
        if not self._may(call_id, call_description.Act.EXTEND):
            return
        ran = self._conversation.engine.background.extend_call(call_id)
        if ran or (running is not None and running.extend_call(call_id)):
            self._ui.toast("It has its whole time again.")
        else:
            self._ui.toast("That call doesn't run any more.")

    def send_now(self) -> None:
        turn = self._conversation.turn
        if all(
            call_description.refusal(call, call_description.Act.SEND)
            for call in self._ui.transcript.open_calls.values()
        ):
            self._ui.toast(call_description.NOTHING_RUNS)
        elif turn is None:
            self._ui.toast("No answer waits for this call: it runs again by itself.")
        elif not turn.send_now():
            self._ui.toast("The answer still streams: more calls may come. Then s sends what there is.")

    def answer(self, call_id: str, text: str | None) -> None:
        """Answer a model's question; None leaves it without an answer."""
        turn = self._conversation.turn
        if turn is None or not turn.answer(call_id, text):
            self._ui.toast(NOT_ASKED)

    def _may(self, call_id: str, act: call_description.Act) -> bool:
        call = self._ui.transcript.calls.get(call_id)
        if call is not None and (why := call_description.refusal(call, act)):
            self._ui.toast(why)
            return False
        return True
