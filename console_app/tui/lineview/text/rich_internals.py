"""Hold the code that relies on what Rich doesn't promise."""

from __future__ import annotations

from rich._unicode_data import load
from rich.cells import CellTable


def cell_table() -> CellTable:
    """Ranges of characters that take none or two cells, and the signs that a selector makes wide."""
    return load("auto")
