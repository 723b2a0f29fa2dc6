"""How many examples a property test tries: the same few in every run, and all of them in `make explore`."""

from __future__ import annotations

import os
from typing import Any

from hypothesis import settings

# Those that are the same in every run find nothing new: they hold what is known.
FEW = 30
EXPLORING = os.environ.get("HYPOTHESIS_PROFILE") == "exploring"


def examples(number: int, **more: Any) -> settings:
    """So many examples where new ones are looked at, and a fifth of them where they are the same in every run."""
    return settings(max_examples=number if EXPLORING else number // 5, **more)
