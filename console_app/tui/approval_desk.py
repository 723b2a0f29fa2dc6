"""What waits for a decision, which of it is selected, and what a key decides: the board without its widget.

It decides nothing by itself and knows no engine: a decision is a value that it hands back. Rows come and go under the
cursor, which stays with its call; a new call stands at the end, so that nothing moves that is being read.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from console_app.domain.approvals import Decision
from console_app.domain.transcript_parts import Call
from console_app.tui.settled_keys import SettledKeys

Scope = Literal["once", "session", "always"]
Stage = Literal["choosing", "rule", "words"]


@dataclass(frozen=True, slots=True)
class Case:
    """A waiting call, and what there is to say of it. `until` is when it is denied by itself, as `at` of events."""

    call: Call
    before: Mapping[str, Any] | None = None  # arguments of the same tool's last call
    traits: str = ""  # what its server says that the tool does
    rules: tuple[str, ...] = ()  # rules that would let it run, the closest first; none when it always asks
    until: float | None = None
    changed: str = ""  # how the tool differs from what was trusted, as a diff


@dataclass(frozen=True, slots=True)
class Ruling:
    """What was decided, the same for each of `call_ids`; with `rule`, that is written as well."""

    call_ids: tuple[str, ...]
    decision: Decision
    scope: Scope = "once"
    rule: str = ""
    feedback: str | None = None


class ApprovalDesk:
    """See the module. `can_be_seen` says whether a case is on screen as it is: what isn't can't be approved."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, can_be_seen: Callable[[Case], bool] = lambda _: True
    ) -> None:
        self.keys = SettledKeys[Ruling](clock)
        self.cases: list[Case] = []
        self.selected = 0
        self.stage: Stage = "choosing"
        self.rule_choice = 0
        self._can_be_seen = can_be_seen

    @property
    def case(self) -> Case | None:
        """The selected one."""
        return self.cases[self.selected] if self.cases else None

    def show(self, cases: Sequence[Case]) -> bool:
        """What waits now, in any order; whether that is a change."""
        fresh = {case.call.id: case for case in cases}
        before = [case.call.id for case in self.cases]
        if set(fresh) == set(before):
            return False
        here = self.case.call.id if self.case else ""
        kept = [call_id for call_id in before if call_id in fresh]
        order = [*kept, *(call_id for call_id in fresh if call_id not in before)]
        # The cursor stays with its call; without it, it goes to the row that took its place.
        place = kept.index(here) if here in kept else sum(before.index(call_id) < self.selected for call_id in kept)
        self.cases = [fresh[call_id] for call_id in order]
        self.selected = min(place, max(len(order) - 1, 0))
        if here not in fresh:
            self.stage = "choosing"
        self.keys.changed()
        return True

    def go(self, index: int) -> bool:
        """Selects a row; the keys of before don't count for it."""
        if not 0 <= index < len(self.cases) or self.stage != "choosing":
            return False
        self.selected = index
        self.keys.changed()
        return True

    def move(self, delta: int) -> bool:
        """To the next or previous row, round the ends; or among the rules that could be written."""
        if self.stage == "rule" and (case := self.case) is not None:
            self.rule_choice = (self.rule_choice + delta) % len(case.rules)
            self.keys.changed()
            return True
        return bool(self.cases) and self.go((self.selected + delta) % len(self.cases))

    def back(self) -> bool:
        """Out of the stage for a rule or words; False when there is nothing to leave."""
        if self.stage == "choosing":
            return False
        self.stage = "choosing"
        self.keys.changed()
        return True

    # What keys decide. Each is False when the key does not count now.

    def once(self) -> bool:
        """Run the selected call, this time."""
        return self._approve([self.case] if self.case else [], "once")

    def all(self) -> bool:
        """Run every call that waits, this time."""
        return self._approve(self.cases, "once")

    def session(self) -> bool:
        """Run it, and calls of its tool without asking until the console is left."""
        case = self.case
        return bool(case and case.rules) and self._approve([case] if case else [], "session")

    def always(self) -> bool:
        """First asks for the rule that would be written, then is the confirmation of it."""
        case = self.case
        if case is None or not case.rules or not self._can_be_seen(case):
            return False
        if self.stage == "rule":
            rule = case.rules[self.rule_choice]
            return self.keys.decide(Ruling((case.call.id,), Decision.ALLOW, "always", rule))
        if self.stage != "choosing" or not self.keys.settled:
            self.keys.changed()
            return False
        self.stage, self.rule_choice = "rule", 0
        self.keys.changed()
        return True

    def deny(self, *, every: bool = False) -> bool:
        """Deny the selected call, or every one."""
        cases = self.cases if every else [self.case] if self.case else []
        if self.stage != "choosing" or not cases:
            return False
        return self.keys.decide(Ruling(tuple(case.call.id for case in cases), Decision.DENY))

    def ask_words(self) -> bool:
        """Deny with words: opens the line for them."""
        if self.stage != "choosing" or not self.cases or not self.keys.settled:
            self.keys.changed()
            return False
        self.stage = "words"
        return True

    def said(self, words: str) -> Ruling | None:
        """The words were sent."""
        case = self.case
        if self.stage != "words" or case is None:
            return None
        self.back()
        return Ruling((case.call.id,), Decision.DENY, feedback=words.strip() or None)

    def may_edit(self) -> bool:
        """Whether the key for editing counts: it only opens a form, which approves by a key of its own."""
        if self.stage != "choosing" or not self.keys.settled or self.case is None:
            self.keys.changed()
            return False
        return True

    def take(self) -> Ruling | None:
        """What was decided and has proved to be meant; None where a key, a change or a row that went came between."""
        ruling = self.keys.take()
        ids = {case.call.id for case in self.cases}
        if ruling is None or not ids.issuperset(ruling.call_ids):
            return None
        if ruling.scope == "always":
            self.stage = "choosing"
        self.keys.changed()
        return ruling

    def _approve(self, cases: Sequence[Case], scope: Scope) -> bool:
        if self.stage != "choosing" or not cases:
            return False
        if not all(self._can_be_seen(case) for case in cases):
            self.keys.changed()
            return False
        rule = cases[0].rules[0] if scope == "session" else ""
        return self.keys.decide(Ruling(tuple(case.call.id for case in cases), Decision.ALLOW, scope, rule))
