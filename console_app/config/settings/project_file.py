"""Divides a project's `.fanout/config.toml`: what only tightens counts at once, the rest once you trusted it.

The file comes with a checkout that anyone may have written. It is an allow-list: what isn't known to be harmless waits.
A limit of time, money or size waits too, for one that is tiny ends every turn before it did anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from console_app.config.files import trusted
from console_app.config.settings.model import Settings
from console_app.domain import ApprovalMode, CallPolicy, one_line

_POLICIES = (CallPolicy.PARALLEL, CallPolicy.SEQUENTIAL, CallPolicy.SINGLE)  # the loosest first


@dataclass(frozen=True, slots=True)
class ProjectFile:
    """A project's settings. `lines` are those that take trust, as `name = value`; they count only when it is `trusted`.
    `wrong` tells of those that can't be used, which count for nothing."""

    path: str
    trusted: bool
    lines: tuple[str, ...]
    wrong: str = ""

    @property
    def note(self) -> str:
        """A line for the user at the start; "" where nothing takes trust."""
        if not self.lines:
            return ""
        if self.trusted:
            return f"{self.path}, which you trusted, sets: {one_line(' · '.join(self.lines), 600)}"
        names = ", ".join(dict.fromkeys(line.partition(" = ")[0] for line in self.lines))
        return (
            f"{self.path} is in force only where it tightens: you have not trusted it as it is now, and it sets "
            f"{one_line(names, 300)}. To see that and say yes: {trusted.IN_A_SHELL}."
        )


def _any(value: Any, below: Any) -> bool:
    return True


def _no_looser_policy(value: Any, below: Any) -> bool:
    """Without a policy a protocol may have a reason for the strictest one."""
    return value is CallPolicy.SINGLE or (below is not None and _POLICIES.index(value) >= _POLICIES.index(below))


_HARMLESS: Mapping[str, Callable[[Any, Any], bool]] = {
    "theme": _any,
    "never_parallel": _any,  # added to yours
    "dispatch": lambda value, below: value == "batch",
    "policy": _no_looser_policy,
    # Beside `plan`, which denies what may change anything, asking is looser.
    "approval_mode": lambda value, below: value is ApprovalMode.ASK and below is not ApprovalMode.PLAN,
}


def divided(values: Mapping[str, Any], below: Settings) -> tuple[dict[str, Any], dict[str, Any]]:
    """Divide a project's table, valid as `Settings` and `Rules`, into what counts at once and what takes trust. `below`
    are the settings without it."""
    said = Settings.model_validate({name: value for name, value in values.items() if name != "rules"})
    at_once: dict[str, Any] = {}
    by_trust: dict[str, Any] = {}
    for name, value in values.items():
        if name == "rules":
            for key, patterns in value.items():
                (by_trust if key == "allow" else at_once).setdefault(name, {})[key] = patterns
        else:
            now = getattr(said, name)
            harmless = now == getattr(below, name) or (name in _HARMLESS and _HARMLESS[name](now, getattr(below, name)))
            (at_once if harmless else by_trust)[name] = value
    if "never_parallel" in at_once:
        at_once["never_parallel"] = [*below.never_parallel, *said.never_parallel]
    return at_once, by_trust
