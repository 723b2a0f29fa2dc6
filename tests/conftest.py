"""What all tests share."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator

from hypothesis import HealthCheck, settings

from console_app.domain import events, messages
from console_app.domain.tools import Frozen

_ = events, messages

gc.disable()  # until all tests are collected

# No deadlines: machines have bad moments. Each run looks at new examples, but where a change is judged (`.ci/run`) they
# are the same every time, so that what fails is what was changed.
# How fast examples are made says something of the machine and nothing of the code.
settings.register_profile("exploring", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("steady", settings.get_profile("exploring"), derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "exploring"))

# What a shell starts with `nohup` or `&` ignores some signals, and so would every program that a test starts, as only
# handlers end with the exec. The tests themselves go on ignoring them.
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, lambda *_: None)


def pytest_xdist_auto_num_workers() -> int:
    """Workers of `-n auto`. Half of the time tests wait: for programs, and for time to pass in them."""
    return 2 * (os.cpu_count() or 1)


def pytest_collection_finish() -> None:
    """A fifth of the tests' time went into looking for garbage among what is imported."""
    gc.enable()
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


def _below(kind: type[Frozen]) -> Iterator[type[Frozen]]:
    yield kind
    for child in kind.__subclasses__():
        yield from _below(child)


# The domain's classes are built when first used; hypothesis reads their signatures before that.
for model in _below(Frozen):
    model.model_rebuild()
