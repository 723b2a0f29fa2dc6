"""All tests share these settings of hypothesis, pytest and the environment."""

from __future__ import annotations

import gc
import os
import signal
import time
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from console_app.domain import events, messages
from console_app.domain.tools import Frozen
from tests.examples import FEW

_ = events, messages

gc.disable()  # until all tests are collected

# Examples are the same in every run, so that a test that fails shows what was changed; `make explore` looks at new
# ones. There are no deadlines, since how fast examples are made tells of the machine.
settings.register_profile("exploring", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(
    "steady", settings.get_profile("exploring"), max_examples=FEW, derandomize=True, database=None
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))

# Tests see nothing of who runs them: no key, proxy, language, time zone, terminal, desktop or mask of files.
_KEPT = (
    *("PATH", "TMPDIR", "LD_LIBRARY_PATH", "NIX_", "PYTHONPATH", "PYTHONHASHSEED"),
    *(
        "PYTEST_",
        "HYPOTHESIS_",
        "COV",
        "FANOUT_TEST_",
        "FAULTS",
        "HOSTILE_EXAMPLES",
        "WEB_PICTURES",
        "TEXTUAL_SNAPSHOT_",
    ),
)
for name in [name for name in os.environ if not name.startswith(_KEPT)]:
    del os.environ[name]
os.environ |= {"LANG": "C.UTF-8", "TERM": "xterm-256color", "TZ": "UTC"}
time.tzset()
os.umask(0o022)


@pytest.fixture(scope="session", autouse=True)
def _home(tmp_path_factory: pytest.TempPathFactory) -> None:
    os.environ["HOME"] = str(tmp_path_factory.mktemp("home"))


# What a shell starts with `nohup` or `&` ignores some signals, and so would every program that a test starts, as only
# handlers end with the exec. The tests themselves go on ignoring them.
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, lambda *_: None)


def pytest_xdist_auto_num_workers() -> int:
    """Workers of `-n auto`. Half of the time tests wait: for programs, and for time to pass in them."""
    return 2 * (os.cpu_count() or 1)


def pytest_collection() -> None:
    """hypothesis finds out who holds its random numbers, once: by now few do, and frozen memory would hide that."""
    given(st.none())(lambda _: None)()


def pytest_collection_finish() -> None:
    """A fifth of the tests' time went into looking for garbage among what is imported."""
    gc.enable()
    gc.collect()
    gc.freeze()
    gc.set_threshold(200_000, 10, 50)


def _below(kind: type[Frozen]) -> Iterator[type[Frozen]]:
    yield kind
    for child in kind.__subclasses__():
        yield from _below(child)


# The domain's classes are built when first used; hypothesis reads their signatures before that.
for model in _below(Frozen):
    model.model_rebuild()
