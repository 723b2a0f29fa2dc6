"""What all tests share."""

from __future__ import annotations

from collections.abc import Iterator

from console_app.domain import events, messages
from console_app.domain.tools import Frozen

_ = events, messages


def _below(kind: type[Frozen]) -> Iterator[type[Frozen]]:
    yield kind
    for child in kind.__subclasses__():
        yield from _below(child)


# The domain's classes are built when first used; hypothesis reads their signatures before that.
for model in _below(Frozen):
    model.model_rebuild()
