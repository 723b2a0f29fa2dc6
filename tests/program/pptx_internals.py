"""The parts of python-pptx that it doesn't promise and the console needs: every use, with its reason, read in 1.0.2."""

from __future__ import annotations

from typing import Final

# module:Class.name; and where and why it is used. Text, as the library loads slowly.
INTERNALS: Final[dict[str, str]] = {
    "pptx.text.text:_Paragraph._p": "properties_of: bullets and indents, for which python-pptx has no API",
    "pptx.oxml.text:CT_TextParagraph.get_or_add_pPr": "properties_of: made by a metaclass, so without parameters here",
}
