"""How an answer begins where the prompt holds the first token of its turn: a recipient's name alone."""

import re

from console_app.dialects.patterns import any_of, lazily
from console_app.dialects.region import Region
from console_app.dialects.scan_state import ScanState
from console_app.dialects.source import Reading
from console_app.dialects.table import BY_NAME

_LONGEST = 120
_TO_ALL = lazily(r"all[ \t]*\r?\n")
_TO = lazily(r"\s*to=(?:(?P<self>self)|user|commentary|[\w.-]+(?=<\|message\|>\s*<\w+:function_calls))<\|message\|>")
_MESSAGE_ENDS = lazily(r"<\|(?:eom|eot|start|end)\|>")


def read_opening(state: ScanState) -> Reading[None]:
    """Read the recipient with which an answer begins: Functionary's without its `>>>`, Muse's without `<|start|>`."""
    src = state.src
    while not src.ended and _may_be_recipient(state, src.buf[src.pos : src.pos + _LONGEST + 1]):
        yield
    row, begin = BY_NAME["functionary_v32"], src.at
    if state.level == "none":
        return
    if found := _TO_ALL.match(src.buf, src.pos):
        src.pos = found.end()
        state.output.drop(src.at)
        state.last_row = row
    elif found := _TO.match(src.buf, src.pos):
        src.pos = found.end()
        state.output.drop(src.at)
        if found["self"]:
            state.held = True
            yield from src.find(_MESSAGE_ENDS, "<", 16)
            state.output.drop(src.at, "thought")
            state.held = False
    elif re.compile(rf"{any_of(state.tools.names) or '(?!)'}[ \t]*\r?\n\s*\{{").match(src.buf, src.pos):
        state.held = True
        state.last_row = row
        state.conclude((yield from state.read_body(row, Region(begin, (), (), pretty=True))))
        state.held = False


def _may_be_recipient(state: ScanState, text: str) -> bool:
    """Whether an answer that begins with this text may name its recipient first, and more must come to tell."""
    if len(text) > _LONGEST:
        return False
    bare = text.lstrip()
    if "to=".startswith(bare[:3]):
        return (
            "<|message|>" not in bare
            or bare.endswith("<|message|>")
            or "<atem:function_calls".startswith(bare.partition("<|message|>")[2].lstrip())
        )
    name, line_end, rest = text.partition("\n")
    if line_end:
        return name.strip() in state.tools.names and not rest.strip()
    return any(known.startswith(name.rstrip(" \t\r")) for known in (*state.tools.names, "all"))
