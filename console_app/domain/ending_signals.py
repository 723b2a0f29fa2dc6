"""The signals that ask a program without a screen to end."""

from __future__ import annotations

import signal
from collections.abc import Sequence


def ending_signals() -> Sequence[signal.Signals]:
    """SIGHUP, by which a terminal says that it is gone, is one unless it is ignored: what `nohup` started goes on."""
    asked = (signal.SIGINT, signal.SIGTERM)
    return asked if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else (*asked, signal.SIGHUP)
