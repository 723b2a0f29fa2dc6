"""Turn events into blocks: every event is folded into the transcript, then shown by the one block it concerns."""

from __future__ import annotations

import asyncio
from bisect import insort
from collections.abc import Callable, Sequence
from typing import assert_never

from console_app.domain import amounts, event_news
from console_app.domain import events as ev
from console_app.domain.transcript import GO_ON, BatchView, CallView, StepView, Transcript
from console_app.tui.lineview.blocks.block import Block
from console_app.tui.lineview.blocks.messages import AssistantBlock, ReasoningBlock, ThoughtBlock, UserBlock
from console_app.tui.lineview.blocks.notices import (
    UNANSWERED,
    CompactionBlock,
    RetryBlock,
    SentBlock,
    TurnEndBlock,
    Waits,
)
from console_app.tui.lineview.calls.block import CallBlock
from console_app.tui.lineview.calls.group import BatchBlock, CallGroup, FoldBlock
from console_app.tui.lineview.scrolling.cursor import newest_group
from console_app.tui.lineview.view import ConversationView

STORED_SLICE = 400  # events of a stored session between two looks at the keys: some 10 ms


class _StepBlocks:
    def __init__(self) -> None:
        self.reasoning: ReasoningBlock | None = None
        self.answers: dict[int, AssistantBlock] = {}  # its text, by the character of it that each begins with
        self.behind = 0  # characters of it that the newest call stands behind
        self.group: CallGroup | None = None
        self.thought: ThoughtBlock | None = None  # that is being written
        self.answered = False  # its message has come; another one is what the model gave to `finished`


class EventRouter:
    """Shows a stream of events, live or replayed, in a view: of the user's conversation, or of the one of an `agent`,
    whose `transcript` the one `above` folds."""

    def __init__(
        self, view: ConversationView, transcript: Transcript, *, agent: str = "", above: Transcript | None = None
    ) -> None:
        self._view = view
        self._transcript = transcript
        self._agent, self._above = agent, above
        self._unread: list[tuple[UserBlock, float]] = []  # said to the agent and not read yet, and when
        self._calls: dict[str, CallBlock] = {}
        self._step = _StepBlocks()
        self._groups: list[CallGroup] = []  # of the newest turn
        self._unreported: list[CallGroup] = []  # of them, those that no answer followed yet
        self._newest: CallGroup | None = None
        self._retry: RetryBlock | None = None  # of a request that is tried again, until its answer begins
        self.key_of: Callable[[str], str] = "/{}".format  # what to press or write for a command
        self.unpainted = 0  # characters of answers since whoever paints them last set it to 0
        self._prompt: UserBlock | None = None  # of the turn, until its message has joined the history
        self._sent: UserBlock | None = None  # a prompt whose turn has not begun
        self._sent_waits: SentBlock | None = None
        self._end: TurnEndBlock | None = None  # of the newest turn
        self._prompts: list[tuple[int, UserBlock]] = []  # how each turn begins

    def show(self, event: ev.Event) -> None:
        """Fold one event into the transcript and show the change. Events of calls nobody knows change nothing."""
        if self._above is None:
            self._transcript.apply(event)
        if event.agent != self._agent and event_news.is_inside(event):
            self._agent_moved(event)
            return
        if self._retry is not None and not event_news.News.of(event) & (
            event_news.News.BESIDE | event_news.News.RETRIES
        ):
            self._retry.over(told=isinstance(event, ev.TurnFinished) and event.outcome == "failed")
            self._view.changed(self._retry)
            self._retry = None
        match event:
            case ev.TextDelta():
                self.unpainted += len(event.text)
                self._spoken(event.text)
                self._begun(event.at)
            case ev.CallProgress() | ev.CallLog() | ev.CallArguments():
                self._call_changed(event.call_id)
            case ev.CallOutput():
                if (writing := self._calls.get(event.call_id)) is not None:
                    writing.group.outputs += 1
                    self._view.changed(writing)
            case ev.ReasoningDelta():
                self.unpainted += len(event.text)
                if self._step.reasoning is None:
                    self._place(ReasoningBlock(started_at=event.at))
                if (block := self._step.reasoning) is not None:
                    block.append(event.text)
                    self._view.changed(block)
            case ev.TextRevised():
                self._said()
            case ev.CallAnnounced():
                self._announced(event)
            case (
                ev.CallReady() | ev.ApprovalRequested() | ev.ApprovalResolved() | ev.CallQueued() | ev.CallStarted()
                | ev.CallExtended()
                | ev.CallDetached() | ev.CallFinished() | ev.CallRestarted() | ev.QuestionAsked() | ev.CallAsked()
                | ev.CallAnswered()
            ):  # fmt: skip
                if (moved := self._call_changed(event.call_id)) is not None:
                    self._group_changed(moved.group, moved.call)
            case ev.CallDropped():
                if (dropped := self._calls.pop(event.call_id, None)) is not None:
                    dropped.group.panels.remove(dropped)
                    dropped.group.reached = [one for one in dropped.group.reached if one is not dropped]
                    self._view.remove_block(dropped)
                    self._group_changed(dropped.group)
            case ev.BatchFinished():
                self._ended(self._step.group)
            case ev.TurnStarted():
                self._turn_started(event)
            case ev.StepStarted():
                self._step = _StepBlocks()
            case ev.MessageAdded():
                self._message(event)
            case ev.RetryScheduled():
                self._retrying(event)
            case ev.Notice():
                self._view.add_notice(event.level, event.to_user(self.key_of("run")))
            case ev.TurnFinished():
                self._turn_finished(event)
            case ev.TurnUndone():
                self._undone(event)
            case ev.ThoughtDelta():
                self._thinking(event)
            case ev.Thought():
                self._thought(event)
            case ev.HistoryCompacted():
                self._view.add_block(CompactionBlock(event))
            case ev.Untold() | ev.UsageReported() | ev.TodoChanged():
                pass
            case _:
                assert_never(event)

    async def show_all(self, happened: Sequence[ev.Event]) -> None:
        for at in range(0, len(happened), STORED_SLICE):
            for event in happened[at : at + STORED_SLICE]:
                self.show(event)
            await asyncio.sleep(0)

    def _agent_moved(self, event: ev.Event) -> None:
        """Paint the row of the agent in whose conversation something happened, and of those that sent it."""
        call_id = (self._above or self._transcript).call_of_agent(event.agent)
        while (block := self._calls.get(call_id)) is not None:
            block.touch()
            self._view.changed(block)
            call_id = block.call.parent

    def catch_up(self) -> None:
        for turn in self._transcript.turns:
            block = UserBlock(turn.prompt)
            self._view.add_block(block)
            self._prompts.append((turn.number, block))
            for step in turn.steps:
                self._step = _StepBlocks()
                for thought in step.thoughts:
                    self._view.add_block(ThoughtBlock(thought.label, thought.text))
                if step.reasoning:
                    self._place(ReasoningBlock(step.reasoning))
                for part in step.parts:
                    if part.text:
                        self._answer(part.begin).append(part.text)
                    for call in part.calls:
                        self._add(call, step.batch)
                if step.done:
                    self._said(step, interrupted=step.interrupted)
                if not step.batch.is_open:
                    self._ended(self._step.group)
                self._step.answered = step.done
                for message in step.steered:
                    self._view.add_block(UserBlock(message.content, steered=True))
            if turn.outcome is not None:
                self._turn_finished(
                    ev.TurnFinished(outcome=turn.outcome, error=turn.error, at=turn.finished_at or turn.started_at)
                )

    def said(self, text: str, at: float) -> None:
        block = UserBlock(text, steered=True)
        block.receipt = "not read yet"
        self._unread.append((block, at))
        self._view.add_block(block)

    def _was_read(self, text: str, at: float) -> bool:
        found = next((one for one in self._unread if one[0].text == text), None)
        if found is not None:
            self._unread.remove(found)
            self._receipt(found[0], f"read {amounts.seconds(max(at - found[1], 0))} later")
        return found is not None

    def _receipt(self, block: UserBlock, receipt: str) -> None:
        block.receipt = receipt
        block.touch()
        self._view.changed(block)

    def _turn_started(self, event: ev.TurnStarted) -> None:
        for group in self._groups:
            group.settled = True
            self._group_changed(group)
        self._groups.clear()
        if self._end is not None and self._end.index >= 0:
            self._end.is_last = False
            self._end.touch()
            self._view.changed(self._end)
        self._view.forget_selection()
        self._step = _StepBlocks()
        block, self._sent = self._sent, None  # the one that stands there since it was sent, if it does
        self._take_waits_away()
        if block is None or block.index < 0:
            block = UserBlock(event.prompt)
            self._view.add_block(block)
        elif block.text != event.prompt:
            block.carry(event.prompt, (), "")
            self._view.changed(block)
        self._prompt = block
        self._prompts.append((event.turn, block))

    def _retrying(self, event: ev.RetryScheduled) -> None:
        if self._retry is None or self._retry.index != len(self._view.blocks) - 1:
            self._retry = RetryBlock(event)
            self._view.add_block(self._retry)
        else:
            self._retry.again(event)
            self._view.changed(self._retry)

    def sending(self, text: str | None, waits: Waits) -> None:
        """Show a prompt that has no turn yet, with what it waits for below; None takes it away."""
        if self._sent is not None:
            if text == self._sent.text and self._sent.index >= 0 and self._sent_waits is not None:
                self._sent_waits.touch()
                self._view.changed(self._sent_waits)
                return
            self._view.remove_block(self._sent)
            self._sent = None
        self._take_waits_away()
        if text is not None:
            self._sent, self._sent_waits = UserBlock(text), SentBlock(waits)
            self._view.add_block(self._sent)
            self._view.add_block(self._sent_waits)

    def _take_waits_away(self) -> None:
        if self._sent_waits is not None:
            self._view.remove_block(self._sent_waits)
            self._sent_waits = None

    def _undone(self, event: ev.TurnUndone) -> None:
        """Takes the blocks of the newest turn out, and whatever was said since."""
        if not self._prompts or self._prompts[-1][0] != event.undone:
            return
        first = self._prompts.pop()[1].index
        in_force = self._transcript.compaction
        for block in reversed(self._view.blocks[first:] if first >= 0 else ()):
            if not (isinstance(block, CompactionBlock) and block.event is in_force):
                self._view.remove_block(block)
        self._groups.clear()
        self._step = _StepBlocks()
        self._now_newest(newest_group(self._view.blocks))

    def _turn_finished(self, event: ev.TurnFinished) -> None:
        self._begun(event.at)
        for answer in self._step.answers.values():
            answer.markdown.finish()
            answer.touch()
            self._view.changed(answer)
        for group in self._groups:
            self._ended(group)
        self._report()
        for block, _ in self._unread:
            self._receipt(block, "never read: it had ended")
        self._unread.clear()
        turn = self._transcript.turn
        self._end = TurnEndBlock(event.outcome, error=event.error)
        if turn is not None:
            self._end.took, self._end.tokens, self._end.cost = event.at - turn.started_at, turn.tokens, turn.cost
            self._end.without_success = len(turn.without_success)
        if self._transcript.unanswered is not None:
            self._end.hint = UNANSWERED
        elif turn is not None and turn.broke_off:
            self._end.hint = GO_ON
        self._view.add_block(self._end)

    def _message(self, event: ev.MessageAdded) -> None:
        if event.role == "assistant" and event.label is not None:
            self._begun(event.at)
            self._step.answered = True
        elif event.role == "assistant":
            self._begun(event.at)
            if self._step.answered:
                self._step = _StepBlocks()
            self._step.answered = True
            step = self._transcript.step
            if self._step.reasoning is None and step is not None and step.reasoning:
                self._place(ReasoningBlock(step.reasoning))
            # Behind calls it is they that were cut, and their panels say so.
            self._said(step, interrupted=event.interrupted and not event.tool_calls)
        elif event.role == "user":
            if event.origin == "fanout":
                pass  # written for the model; what a person has to know of it is a notice or the end of the turn
            elif self._prompt is not None:  # shown since the turn began; now with what servers gave for it
                if event.source or event.attachments:
                    self._prompt.carry(event.content, event.attachments, event.source)
                    self._view.changed(self._prompt)
                self._prompt = None
            elif not self._was_read(event.content, event.at):
                block = UserBlock(event.content, steered=True)
                block.carry(event.content, event.attachments, event.source)
                self._view.add_block(block)

    def _thinking(self, event: ev.ThoughtDelta) -> None:
        step = self._transcript.step
        if step is None:
            return
        self._begun(event.at)
        if self._step.thought is None:
            self._report()
            self._step.thought = ThoughtBlock(event.label, "")
            self._view.add_block(self._step.thought)
        self._step.thought.tell(event.label, step.thinking, growing=True)
        self._view.changed(self._step.thought)

    def _thought(self, event: ev.Thought) -> None:
        block = self._step.thought or ThoughtBlock(event.label, "")
        if self._step.thought is None:
            self._view.add_block(block)
        self._step.thought = None
        block.tell(event.label, event.text)
        self._view.changed(block)

    # Reasoning stands above all else of a step, whatever order their first events came in; text and calls as they came.

    def _spoken(self, text: str) -> None:
        answer = self._answer(begin := self._step.behind)
        answer.append(text if answer.markdown.text or not begin else text.lstrip("\n"))
        self._view.changed(answer)

    def _said(self, step: StepView | None = None, *, interrupted: bool | None = None) -> None:
        """Show the text of the answer as it is known now, `interrupted` or not where no more of it comes."""
        step = step or self._transcript.step
        texts = {} if step is None else {one.begin: one.text for one in step.parts if one.text}
        for begin in {**self._step.answers, **texts}:
            answer, text = self._answer(begin), texts.get(begin, "")
            if interrupted is None:
                answer.revise(text)
            else:
                answer.settle(text, interrupted=interrupted and begin == max(texts, default=0))
            self._view.changed(answer)

    def _answer(self, begin: int) -> AssistantBlock:
        """The block of the text that begins with this character, or a new one above the calls that stand behind."""
        if begin not in self._step.answers:
            group = self._step.group
            self._report(but=group)
            panels = [] if group is None else [one for one in group.panels if one.call.parent not in self._calls]
            below = (one for one in panels if one.call.behind is None or one.call.behind > begin)
            panel = next(below, None)
            before = group.header if group is not None and [panel] == group.panels[:1] else panel
            if panel is not None and before is panel:
                self._calls[panel.call.id].apart = True
                self._call_changed(panel.call.id)
            self._step.answers[begin] = AssistantBlock()
            self._view.add_block(self._step.answers[begin], before=before)
        return self._step.answers[begin]

    def _place(self, block: ReasoningBlock) -> None:
        step = self._step
        self._report(but=step.group)
        step.reasoning = block
        header = step.group.header if step.group is not None else None
        self._view.add_block(block, before=step.answers.get(0, header))

    def _begun(self, at: float) -> None:
        reasoning = self._step.reasoning
        if reasoning is not None and reasoning.live:
            reasoning.end(at)
            self._view.changed(reasoning)

    def _announced(self, event: ev.CallAnnounced) -> None:
        call, step = self._transcript.calls.get(event.call_id), self._transcript.step
        if call is not None and step is not None and event.call_id not in self._calls:
            if call.agent == self._agent:
                self._begun(event.at)
            self._add(call, step.batch)

    def _add(self, call: CallView, batch: BatchView) -> None:
        if (above := self._calls.get(call.parent)) is not None:
            self._announced_below(call, above)
        if above is not None or call.agent != self._agent:
            return
        group = self._step.group
        if group is None:
            group = self._step.group = CallGroup(batch)
            group.depth = self._agent.count("/") + bool(self._agent)
            group.room = self._view.room
            group.header = BatchBlock(group)
            self._view.add_block(group.header)
            self._groups.append(group)
            self._report()
            self._unreported.append(group)
            self._now_newest(group)
        self._step.behind = call.behind or self._step.behind
        block = CallBlock(call, group)
        self._calls[call.id] = block
        above = group.panels[-1] if group.panels else group.members[0]
        spoken = max(self._step.answers.values(), key=lambda one: one.index, default=above)
        block.apart = between = spoken.index > above.index
        self._place_behind(spoken if between else above, block)
        group.panels.append(block)
        group.reached.append(block)
        if self._prompts and self._prompts[-1][1].text.startswith("!"):
            block.toggle()  # a command is typed for its output
        if group.fold is not None and between:
            self._view.remove_block(group.fold)
            self._place_behind(block, group.fold)
        elif group.fold is None and group.has_header:
            group.fold = FoldBlock(group)
            self._place_behind(block, group.fold)
        self._group_changed(group, call)

    def _announced_below(self, call: CallView, above: CallBlock) -> None:
        """A call of a program or an agent: its row stands below all that the one `above` made so far."""
        group, at = above.group, above.group.panels.index(above) + 1
        while at < len(group.panels) and self._transcript.is_below(group.panels[at].call, call.parent):
            at += 1
        block = CallBlock(call, group)
        self._calls[call.id] = block
        self._place_behind(group.panels[at - 1], block)
        group.panels.insert(at, block)
        if above in group.reached and not above.call.is_agent:
            insort(group.reached, block, key=lambda panel: panel.index)
        turn = self._transcript.turn
        group.ended = group.ended and turn is not None and turn.outcome is not None  # a program has one more answer
        if group.fold is None:
            group.fold = FoldBlock(group)
            self._place_behind(group.panels[-1], group.fold)
        self._group_changed(group, call)

    def _place_behind(self, block: Block, other: Block) -> None:
        after = block.index + 1
        self._view.add_block(other, before=self._view.blocks[after] if 0 < after < len(self._view.blocks) else None)

    def _now_newest(self, group: CallGroup | None) -> None:
        """Give the calls of this batch numbers, and those of the one before none."""
        for one, newest in ((self._newest, False), (group, True)):
            if one is not None:
                one.newest = newest
                self._group_changed(one)
        self._newest = group

    def _report(self, but: CallGroup | None = None) -> None:
        """Fold the long batches so far, since something else comes now."""
        for group in [group for group in self._unreported if group is not but]:
            self._unreported.remove(group)
            group.reported = True
            self._group_changed(group)

    def _ended(self, group: CallGroup | None) -> None:
        if group is not None and not group.ended:
            group.ended = True
            self._group_changed(group)

    def _call_changed(self, call_id: str) -> CallBlock | None:
        block = self._calls.get(call_id)
        if block is not None:
            block.touch()
            self._view.changed(block)
        return block

    def _group_changed(self, group: CallGroup | None, call: CallView | None = None) -> None:
        if group is not None:
            group.changed(call)
            if group.header is not None:
                self._view.changed(group.header)
