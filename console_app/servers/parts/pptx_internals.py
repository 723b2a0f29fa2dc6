"""The parts of python-pptx that it doesn't promise and the console needs: every use, with its reason, read in 1.0.2.

`tests/program/test_library_internals.py` holds the table against the python-pptx that is installed and the code.
"""

from __future__ import annotations

from typing import Any, Final

# module:Class.name; and where and why it is used. Text, as the library loads slowly.
INTERNALS: Final[dict[str, str]] = {
    "pptx.text.text:_Paragraph._p": "properties_of: bullets and indents, for which python-pptx has no API",
    "pptx.oxml.text:CT_TextParagraph.get_or_add_pPr": "properties_of: made by a metaclass, so without parameters here",
}


def properties_of(paragraph: Any) -> Any:
    """Return the XML element of a paragraph's properties, made if there is none."""
    return paragraph._p.get_or_add_pPr()
