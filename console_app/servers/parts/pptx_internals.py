"""Hold the code that relies on what python-pptx doesn't promise; `tests/program/pptx_internals.py` has the reasons."""

from __future__ import annotations

from typing import Any


def properties_of(paragraph: Any) -> Any:
    """Return the XML element of a paragraph's properties, made if there is none."""
    return paragraph._p.get_or_add_pPr()
