"""The parts of Rich that it doesn't promise and the console needs: every use, with its reason, read in 15.0.0.

`tests/program/test_library_internals.py` holds the table against the Rich that is installed and against the code.
"""

from __future__ import annotations

from typing import Final

# module:Class.name, of a method with its parameters; and where and why it is used.
INTERNALS: Final[dict[str, str]] = {
    "rich._unicode_data:load(unicode_version)": "cell_table: Rich gives one character's cells, not those of ranges",
    "rich.cells:CellTable.widths": "cell_table: megabytes are measured by ranges",
    "rich.cells:CellTable.narrow_to_wide": "cell_table: the signs that a variation selector makes wide",
}
