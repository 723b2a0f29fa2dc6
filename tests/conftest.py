"""What all tests share."""

from __future__ import annotations

import os
from collections.abc import Iterator

from hypothesis import settings

from console_app.domain import events, messages
from console_app.domain.tools import Frozen

_ = events, messages

# No deadlines: machines have bad moments. Each run looks at new examples, but where a change is judged (`.ci/run`) they
# are the same every time, so that what fails is what was changed.
settings.register_profile("exploring", deadline=None)
settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "exploring"))


def _below(kind: type[Frozen]) -> Iterator[type[Frozen]]:
    yield kind
    for child in kind.__subclasses__():
        yield from _below(child)


# The domain's classes are built when first used; hypothesis reads their signatures before that.
for model in _below(Frozen):
    model.model_rebuild()
