"""What comes of your decisions: calls are answered, rules come into force, and one that is to stay is written first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from console_app.domain.approvals import Decision
from console_app.domain.errors import FanoutError
from console_app.domain.events import Level
from console_app.domain.rules import parse_rule
from console_app.domain.safe_text import one_line
from console_app.engine.approval_gate import Action, Rule
from console_app.tui.approval_desk import Ruling
from console_app.tui.services import ConsoleServices
from console_app.tui.turn_driver import TurnDriver

SESSION = "this session"


class Decisions:
    """Of one chat screen. `tell` says what stays on screen, `toast` what goes away by itself."""

    def __init__(
        self,
        services: ConsoleServices,
        driver: TurnDriver,
        *,
        tell: Callable[[Level, str], None],
        toast: Callable[[str], None],
    ) -> None:
        self._services = services
        self._driver = driver
        self._tell = tell
        self._toast = toast

    def rule_on(self, ruling: Ruling) -> None:
        """Carries out what was decided on the board. A rule that can't be written leaves its call waiting."""
        if ruling.rule and not self.add_rule("allow", ruling.rule, keep=ruling.scope == "always"):
            return
        activity = self._driver.activity
        if activity is None:
            return
        for call_id in ruling.call_ids:
            activity.resolve(call_id, ruling.decision, feedback=ruling.feedback)
        if ruling.rule:
            self.reconsider()

    def run_edited(self, call_id: str, arguments: dict[str, Any]) -> None:
        """Lets a waiting call run with other arguments; the model hears of them."""
        activity = self._driver.activity
        if activity is None or not activity.resolve(call_id, Decision.ALLOW, arguments=arguments):
            self._toast("That call doesn't wait any more.")

    def add_rule(self, action: Action, text: str, *, keep: bool) -> bool:
        """Puts a rule in force, with `keep` also into the user's configuration. False when it could not be kept."""
        file = self._services.rules if keep else None
        try:
            read = parse_rule(text)
            if file is not None:
                file.add(action, text)
        except (FanoutError, ValueError) as error:
            self._tell("error", one_line(str(error), 300))
            return False
        rule = Rule(action, read.pattern, SESSION if file is None else file.path, read.arguments)
        self._services.engine.gate.rules.append(rule)
        where = f"Written to {one_line(file.path, 80)}" if file is not None else "Until you leave"
        self._toast(f"{where}: {one_line(str(rule), 120)}")
        return True

    def remove_rule(self, rule: Rule) -> bool:
        """Takes a rule out of force, and out of the user's configuration where it stands there."""
        file = self._services.rules
        if file is not None and rule.source == file.path:
            try:
                file.remove(rule.action, rule.text)
            except FanoutError as error:
                self._tell("error", error.line)
                return False
        rules = self._services.engine.gate.rules
        rules[:] = [other for other in rules if other is not rule]
        return True

    def reconsider(self) -> int:
        """Asks the gate again about every call that waits, after a change of rules or mode; how many it answered."""
        return self._driver.activity.reconsider() if self._driver.activity is not None else 0
