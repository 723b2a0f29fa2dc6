"""Labels at the start of a line: `Action:` and what may follow it, `Observation:`, and Functionary's `>>>`."""

import re

from console_app.dialects.patterns import lazily
from console_app.dialects.region import Region
from console_app.dialects.scan_state import ScanState
from console_app.dialects.source import LOOKAHEAD, Reading
from console_app.dialects.table import BY_NAME
from console_app.dialects.table_parts import ACTION, ACTION_INPUT, label
from console_app.dialects.tag_body import tag_pattern

_LABEL = lazily(ACTION)
_OBSERVATION = lazily(label("Observation"))
_OBJECTS = lazily(rf"{ACTION}\s*(?=\{{\s*[\"'\w]|\[\s*\{{)")
_FENCED = lazily(rf"{ACTION}\s*```\w*\s*(?=\{{\s*[\"'\w]|\[\s*\{{)")
_NAMED = lazily(BY_NAME["react"].body.start)
_HALF = lazily(
    rf"{ACTION}[ \t]*`?([\w.\-]+)`?[ \t]*(?:\r?\n\s*\*{{0,2}}"
    r"(?i:A(?:c(?:t(?:i(?:o(?:n(?: (?:I[nput]*\*{0,2} ?:?\*{0,2}\s*)?)?)?)?)?)?)?)?)?$"
)
_HALF_OBJECT = lazily(rf"{ACTION}\s*(?:```\w*\s*$|(?:```\w*\s*)?[\[{{]\s*(?:$|[\"'{{]))")
_NO_INPUT = lazily(rf"{ACTION}[ \t]*([\w.\-]+)[ \t]*\r?\n\s*(?={label('Observation')})")
_EMPTY_INPUT = lazily(rf"{ACTION}[ \t]*([\w.\-]+)[ \t]*\r?\n\s*{ACTION_INPUT}\s*$")
_TO_ALL = lazily(r">>>all[ \t]*\r?\n")


def read_label(state: ScanState, token: str) -> Reading[None]:
    """Read what a label announces; anywhere but at the start of a line it is text."""
    place = state.place()
    follows = token == ">>>" and state.last_row is BY_NAME["functionary_v32"]
    if not follows and (not place.line_start or place.blockquote):
        state.src.pos += len(token)
    elif "observation" in token.lower():
        if (yield from state.src.match(_OBSERVATION, 24)):
            yield from state.cut(token, place)
        else:
            state.src.pos += len(token)
    else:
        yield from (_recipient if token == ">>>" else _action)(state, place.quoted)


def _action(state: ScanState, shown: str) -> Reading[None]:
    src, start = state.src, state.src.at
    chosen = yield from src.match_first([_OBJECTS, _FENCED, _NO_INPUT, _NAMED])
    if chosen is None:
        _no_action(state, shown)
        return
    if chosen in (0, 1):
        row = BY_NAME["smol_action"]
        length = _label_length(state)
        src.pos += length
        draft = yield from state.read_body(
            row, Region(start, (src.buf[src.pos - length : src.pos],), row.closes, pretty=True)
        )
        text = src.text(start, min(src.at, start + 600))
        if chosen == 1:
            langchain = '"action"' in text
            draft.relabel("langchain_action_fence" if langchain else "command_r")
        state.conclude(draft, shown=shown)
        return
    pattern = _NO_INPUT if chosen == 2 else _NAMED
    found = pattern.match(src.buf, src.pos)
    assert found is not None, "it was just chosen"
    written = found.group(1)
    if state.tools.resolve(written) is None:
        src.pos += _label_length(state)
        return
    row = BY_NAME["react"]
    if chosen == 2:
        draft = state.new_draft(row.name)
        src.pos = found.end()
        draft.done_loosely(written, None, start, src.at)
    else:
        draft = yield from state.read_body(row, Region(start, (), (), pretty=True))
    state.conclude(draft, shown=shown)


def _label_length(state: ScanState) -> int:
    found = _LABEL.match(state.src.buf, state.src.pos)
    return found.end() - state.src.pos if found else 1


def _no_action(state: ScanState, shown: str) -> None:
    """`Action:` without anything that runs: cut off, if a tool is named, else text."""
    src, start = state.src, state.src.at
    rest = src.tail(limit=LOOKAHEAD) or ""
    if _HALF_OBJECT.match(rest):
        state.cut_off("smol_action", "inside the call", start, shown=shown)
        return
    found = _HALF.match(rest) or _EMPTY_INPUT.match(rest)
    name = found.group(1) if found else ""
    if found and (state.tools.resolve(name) or any(tool.startswith(name) for tool in state.tools.names)):
        state.cut_off("react", "before the input of the action", start, name, shown)
    else:
        src.pos += _label_length(state)


def _recipient(state: ScanState, shown: str) -> Reading[None]:
    src, row, start = state.src, BY_NAME["functionary_v32"], state.src.at
    head = tag_pattern(row.body.start, state.tools)
    chosen = yield from src.match_first([_TO_ALL, head])
    if chosen is None:
        half = re.match(r">>>([\w.-]+)\s*$", src.tail() or "")
        if half and any(tool.startswith(half.group(1)) for tool in state.tools.names):
            state.cut_off(row.name, "before the arguments", start, half.group(1), shown)
        else:
            src.pos += len(">>>")
    elif chosen == 0:
        found = _TO_ALL.match(src.buf, src.pos)
        assert found is not None, "it was just chosen"
        src.pos = found.end()
        state.output.drop(src.at)
        state.last_row = row
    else:
        state.last_row = row
        state.conclude((yield from state.read_body(row, Region(start, (), (), pretty=True))), shown=shown)
