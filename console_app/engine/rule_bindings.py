"""Which program or address an allow rule means by the name of a server: a rule is for what it was first used with.

A rule names a server as mcp.json does, and any file may call any program so. So an allowing rule is bound to the
identity of the server (`ServerIdentity`), for each server that it matches: when you wrote it here, to what runs now;
else at its first use. Another program under that name asks. Rules of the user's files are never bound by themselves to
servers that are not the user's own (`own_servers`): those come with a project, or were named for this once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from console_app.domain.tools import ServerIdentity, ToolSpec

# bound: to this server · new: to none yet · other: to another · foreign: to none, and not by itself to this one
Standing = Literal["bound", "new", "other", "foreign"]


@dataclass(frozen=True, slots=True)
class RuleKey:
    """A rule as it is written in one place, and the name of a server that it matches."""

    source: str
    rule: str
    server: str


@dataclass(slots=True)
class RuleBindings:
    """`user_file` is the source of the rules of the user's file; `store` keeps a new binding, and may block."""

    bound: dict[RuleKey, tuple[ServerIdentity, ...]] = field(default_factory=dict[RuleKey, tuple[ServerIdentity, ...]])
    user_file: str = ""
    own_servers: bool = True
    foreign: frozenset[str] = frozenset()  # servers that are not the user's own though the others are: an editor's
    store: Callable[[RuleKey, ServerIdentity], None] | None = None

    def standing(self, key: RuleKey, spec: ToolSpec) -> Standing:
        """Whether a rule means the server of this tool."""
        if spec.identity is None:
            return "bound"
        known = self.bound.get(key, ())
        if any(one.digest == spec.identity.digest for one in known):
            return "bound"
        if known:
            return "other"
        own = self.own_servers and key.server not in self.foreign
        return "foreign" if key.source == self.user_file and not own else "new"

    def meant(self, key: RuleKey) -> Sequence[ServerIdentity]:
        """What a rule is bound to, the newest last."""
        return self.bound.get(key, ())

    def bind(self, key: RuleKey, spec: ToolSpec) -> bool:
        """From now on the rule means this server (too); whether that is new. It is not stored yet: see `keep`."""
        if spec.identity is None or self.standing(key, spec) == "bound":
            return False
        self.bound[key] = (*self.bound.get(key, ()), spec.identity)
        return True

    def keep(self, key: RuleKey, spec: ToolSpec) -> None:
        """Stores a binding, where rules of that source outlive the console. May block."""
        if self.store is not None and spec.identity is not None:
            self.store(key, spec.identity)
