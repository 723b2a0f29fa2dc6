"""Tool calls that models write as text: one streaming scanner over a table of dialects."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console_app.textcalls.bodies.literals import decode_json as decode_json
    from console_app.textcalls.dialects.table import FAMILIES as FAMILIES
    from console_app.textcalls.mentions import unread as unread
    from console_app.textcalls.model import ParsedCall as ParsedCall
    from console_app.textcalls.model import ReadingLevel as ReadingLevel
    from console_app.textcalls.model import ToolSignature as ToolSignature
    from console_app.textcalls.patterns import lazily as lazily
    from console_app.textcalls.patterns import prepare as prepare
    from console_app.textcalls.prompting import render_calls as render_calls
    from console_app.textcalls.scanner import Scanner as Scanner
    from console_app.textcalls.scanner import parse as parse
    from console_app.textcalls.tool_schemas import ToolSchemas as ToolSchemas
else:
    from console_app.door import door

    __getattr__ = door(__name__, __file__)
