"""The board without its widget knows which calls wait for a decision, which one is selected, and what a key decides.

It decides nothing by itself and knows no engine: a decision is a value that it hands back. Rows come and go under the
cursor, which stays with its call; a new call stands at the end, so that nothing moves that is being read.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Literal

from console_app.console import ApprovalDecision, Pending, Scope
from console_app.domain import Decision, one_line
from console_app.records import replace
from console_app.tui.asking.settled_keys import SettledKeys

BESIDE = 1.0  # seconds in which two digits are one number
Stage = Literal["choosing", "rule", "words", "comment"]


class ApprovalSelection:
    """Selects among the waiting calls, and decides them by key. `seen` has the hash of each call that was displayed to
    its end: no other can be approved."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.keys = SettledKeys[ApprovalDecision](clock)
        self.waiting: list[Pending] = []
        self.selected = 0
        self.stage: Stage = "choosing"
        self.rule_choice = 0
        self.comments: dict[str, str] = {}  # your words for the model, by call id; they decide nothing
        self.seen: dict[str, str] = {}  # by call id
        self.had_row: set[str] = set()  # calls that had a row on screen: no key for all decides another
        self._clock = clock
        self._digits, self._digit_at = 0, float("-inf")  # the number that was typed last, and when

    @property
    def current(self) -> Pending | None:
        return self.waiting[self.selected] if self.waiting else None

    def fingerprint(self, call_id: str) -> str | None:
        return next((one.fingerprint for one in self.waiting if one.call.id == call_id), None)

    def show(self, waiting: Sequence[Pending]) -> bool:
        """Take the calls that wait now, in any order; tell whether they differ from before, a changed tool included."""
        fresh = {approval.call.id: approval for approval in waiting}
        before = [approval.call.id for approval in self.waiting]
        both = ((old, fresh[old.call.id]) for old in self.waiting if old.call.id in fresh)
        others = {old.call.id for old, new in both if (old.fingerprint, old.changed) != (new.fingerprint, new.changed)}
        if set(fresh) == set(before) and not others:
            return False
        here = self.current.call.id if self.current else ""
        remaining = [call_id for call_id in before if call_id in fresh]
        order = [*remaining, *(call_id for call_id in fresh if call_id not in before)]
        # The cursor stays with its call; without it, it goes to the row that took its place.
        place = (
            remaining.index(here)
            if here in remaining
            else sum(before.index(call_id) < self.selected for call_id in remaining)
        )
        self.waiting = [fresh[call_id] for call_id in order]
        self.selected = min(place, max(len(order) - 1, 0))
        if here not in fresh or here in others:
            self.stage = "choosing"
        self.comments = {call_id: words for call_id, words in self.comments.items() if call_id in fresh}
        self.seen = {call_id: hash for call_id, hash in self.seen.items() if call_id in fresh and call_id not in others}
        if here and not others and len(remaining) == len(before):
            self.keys.grew()
        else:
            self.keys.changed()
        return True

    def go(self, index: int) -> bool:
        if not 0 <= index < len(self.waiting) or self.stage != "choosing":
            return False
        self.selected = index
        self.keys.moved()
        return True

    def go_to_number(self, digit: int) -> bool:
        """Selects the row of the panel of that number; right behind another digit, of the number that both make."""
        now = self._clock()
        before = self._digits if now - self._digit_at < BESIDE else 0
        self._digit_at = now
        for number in dict.fromkeys((before * 10 + digit, digit)):
            self._digits = number
            if self.go(next((index for index, one in enumerate(self.waiting) if one.number == number), -1)):
                return True
        return False

    def move(self, delta: int) -> bool:
        if self.stage == "rule" and (approval := self.current) is not None:
            self.rule_choice = (self.rule_choice + delta) % len(approval.rules)
            self.keys.changed()
            return True
        there = self.waiting and not self.keys.on_its_way
        return bool(there) and self.go((self.selected + delta) % len(self.waiting))

    def back(self) -> bool:
        if self.stage == "choosing":
            return False
        self.stage = "choosing"
        self.keys.changed()
        return True

    def refusal(self, what: str) -> str:
        """The reason why a key can't do here what it is for; "" where it can."""
        approval = self.current
        if what == "session" and approval is not None and approval.form:
            return ""
        if what in ("session", "always") and approval is not None and not approval.rules:
            return f"{one_line(approval.call.label, 60)} always asks: no rule can change that."
        if what == "reads" and not any(one.only_reads for one in self.waiting):
            return "No waiting call is declared read-only by its server."
        return ""

    def unseen(self, what: str) -> int | None:
        """The first row that a key would approve without its end displayed, or deny out of sight, if there is one."""
        if what == "none":
            return next((n for n, one in enumerate(self.waiting) if one.call.id not in self.had_row), None)
        meant = {one.call.id for one in self._meant(what)} if self.stage == "choosing" else set[str]()
        return next((n for n, one in enumerate(self.waiting) if one.call.id in meant - self.seen.keys()), None)

    def _meant(self, what: str) -> Sequence[Pending]:
        if what in ("once", "session", "always"):
            return [self.current] if self.current else []
        return self.waiting if what == "all" else [one for one in self.waiting if what == "reads" and one.only_reads]

    # Decisions by key. Each method returns False when the key does not count now.

    def allow(self, what: Literal["once", "all", "reads", "session"]) -> bool:
        """Run this time the selected call, all, or all that only read, as their servers declare.

        `session`: run it, and calls of its tool till the console is left; where the form of its text asks, have the
        model known to write so.
        """
        approvals = self._meant(what)
        scope: Scope = "once"
        if what == "session" and self.current is not None:
            scope = "form" if self.current.form else "session"
        if self.stage != "choosing" or not approvals or (scope == "session" and not approvals[0].rules):
            return False
        if not all(approval.call.id in self.seen for approval in approvals):
            self.keys.changed()
            return False
        rule = approvals[0].rules[0] if scope == "session" else ""
        return self.keys.decide(self._decision(approvals, Decision.ALLOW, scope, rule), here=what == "once")

    def always(self) -> bool:
        """First asks for the rule that would be written, then is the confirmation of it."""
        approval = self.current
        if approval is None or not approval.rules or approval.call.id not in self.seen:
            return False
        if self.stage == "rule":
            rule = approval.rules[self.rule_choice]
            return self.keys.decide(self._decision([approval], Decision.ALLOW, "always", rule))
        if self.stage != "choosing" or not self.keys.settled:
            self.keys.changed()
            return False
        self.stage, self.rule_choice = "rule", 0
        self.keys.changed()
        return True

    def deny(self, *, every: bool = False) -> bool:
        approvals = self.waiting if every else [self.current] if self.current else []
        if self.stage != "choosing" or not approvals:
            return False
        return self.keys.decide(self._decision(approvals, Decision.DENY), here=not every)

    def ask_words(self, stage: Literal["words", "comment"] = "words") -> bool:
        """Opens the line for words: those to deny with, or a comment that goes along with what you decide then."""
        if not self.may_edit():
            return False
        self.stage = stage
        return True

    @property
    def comment(self) -> str:
        return self.comments.get(self.current.call.id, "") if self.current else ""

    def submit_words(self, words: str) -> ApprovalDecision | None:
        """Deny with these words, or keep the comment, which approves nothing: a line ends with Enter too easily."""
        approval, stage, words = self.current, self.stage, words.strip()
        if approval is None or stage not in ("words", "comment"):
            return None
        self.back()
        if stage == "words":
            return ApprovalDecision((approval.call.id,), Decision.DENY, feedback=words or None)
        self.comments.pop(approval.call.id, None)
        if words:
            self.comments[approval.call.id] = words
        return None

    def may_edit(self) -> bool:
        """Tell whether the key for editing counts. It only opens a form, which approves by a key of its own."""
        if self.stage != "choosing" or not self.keys.settled_here or self.current is None:
            self.keys.changed()
            return False
        return True

    def take(self) -> ApprovalDecision | None:
        """The decision that proved to be meant; None where a key, a change or a row that went came between."""
        decision = self.keys.take()
        ids = {approval.call.id for approval in self.waiting}
        if decision is None or not ids.issuperset(decision.call_ids):
            return None
        if decision.scope == "always":
            self.stage = "choosing"
        self.keys.changed()
        shown = {one.call.id: one.fingerprint for one in self.waiting if one.fingerprint is not None}
        return replace(
            decision,
            shown={call_id: shown[call_id] for call_id in decision.call_ids if call_id in shown},
            displayed={call_id: self.seen[call_id] for call_id in decision.call_ids if call_id in self.seen},
        )

    def _decision(
        self, approvals: Sequence[Pending], decision: Decision, scope: Scope = "once", rule: str = ""
    ) -> ApprovalDecision:
        ids = tuple(approval.call.id for approval in approvals)
        comments = {call_id: self.comments[call_id] for call_id in ids if call_id in self.comments}
        return ApprovalDecision(ids, decision, scope, rule, comments=comments)
