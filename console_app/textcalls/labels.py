"""Labels at the start of a line: `Action:` and what may follow it, `Observation:`, and the recipients of Functionary
and Muse, with which an answer may begin.
"""

from console_app.textcalls.bare import pass_separator
from console_app.textcalls.patterns import lazily, partly
from console_app.textcalls.region import Region
from console_app.textcalls.scan_state import ScanState
from console_app.textcalls.source import LOOKAHEAD, Reading
from console_app.textcalls.table import BY_NAME
from console_app.textcalls.table_parts import ACTION, ACTION_INPUT, label
from console_app.textcalls.tag_body import tag_pattern

_LABEL = lazily(ACTION)
_OBSERVATION = lazily(label("Observation"))
_OBJECTS = lazily(rf"{ACTION}\s*(?P<fence>```\w*\s*)?(?=\{{\s*[\"'\w]|\[\s*\{{)")
_NAMED = lazily(BY_NAME["react"].body.start)
_INPUTS = [f"{mark}{word}:" for word in ("Action Input", "ACTION INPUT", "Action Input ") for mark in ("", "**")]
_HALF = lazily(rf"{ACTION}[ \t]*`?([\w.\-]+)`?[ \t]*(?:\r?\n\s*(?:{partly(_INPUTS)}|{ACTION_INPUT}\s*)?)?$")
_NO_INPUT = lazily(rf"{ACTION}[ \t]*(?P<name>[\w.\-]+)[ \t]*\r?\n\s*(?={label('Observation')})")
_HALF_OBJECT = lazily(rf"{ACTION}\s*(?:```\w*\s*$|(?:```\w*\s*)?[\[{{]\s*(?:$|[\"'{{]))")
_TO_ALL = lazily(r"(?:>>>)?all[ \t]*\r?\n")
_HALF_RECIPIENT = lazily(r">>>([\w.-]+)\s*$")
_TO = lazily(r"\s*to=(?:(?P<self>self)|user|commentary|[\w.-]+(?=<\|message\|>\s*<\w+:function_calls))<\|message\|>")
_HALF_TO = lazily(r"\s*t(?:o(?:=[\w.-]*(?:<[|\w]*>?\s*(?:<[\w:]*)?)?)?)?")
_NAME = lazily(r"(?P<name>\S+)[ \t]*\r?\n\s*\{")
_HALF_NAME = lazily(r"\s*(\S*)([ \t\r]*(?:\n\s*)?)")
_MESSAGE_ENDS = lazily(r"<\|(?:eom|eot|start|end)\|>")
_LONGEST = 120
BESIDE_CALLS = "more than calls stands in its fence"


def read_label(state: ScanState, token: str) -> Reading[None]:
    """Read what a label announces; anywhere but at the start of a line it is only shown."""
    src, place = state.src, state.place()
    if token == ">>>":
        anywhere = state.last_row is BY_NAME["functionary_v32"]
        yield from _recipient(state, place.quoted if anywhere else place.withheld)
    elif "observation" not in token.lower():
        yield from _action(state, place.withheld)
    elif place.line_start and not place.blockquote and (yield from src.match(_OBSERVATION, 24)):
        yield from state.cut(token, place)
    else:
        src.pos += len(token)


def _action(state: ScanState, shown: str) -> Reading[None]:
    src, start = state.src, state.src.at
    starts = [_OBJECTS, _NAMED, _NO_INPUT]
    chosen = yield from src.match_first(starts)
    found = starts[chosen or 0].match(src.buf, src.pos)
    after = _LABEL.match(src.buf, src.pos)
    if found is None or (chosen and state.tools.resolve(found["name"]) is None):
        _no_action(state, shown, after.end() if after else src.pos + 1)
        return
    row = BY_NAME["react" if chosen else "smol_action"]
    if chosen == 2:
        src.pos = found.end()
        draft = state.new_draft(row.name)
        draft.done_loosely(found["name"], None, start, src.at)
        state.conclude(draft, shown=shown)
        return
    opens = () if chosen or after is None else (after.group(),)
    src.pos += sum(map(len, opens))
    draft = yield from state.read_body(row, Region(start, opens, row.closes, pretty=True))
    if not chosen and found["fence"]:
        langchain = '"action"' in src.text(start, min(src.at, start + 600))
        draft.relabel("langchain_action_fence" if langchain else "command_r")
        if src.text(src.at - 1, src.at) != "`" and (yield from src.ahead()) not in ("", "<"):
            shown = shown or BESIDE_CALLS
    yield from state.conclude_in_line(draft, shown)
    yield from pass_separator(state)


def _no_action(state: ScanState, shown: str, after: int) -> None:
    """`Action:` without anything that runs: cut off, if a tool is named, else text."""
    src, start = state.src, state.src.at
    rest = src.tail(limit=LOOKAHEAD) or ""
    half = _HALF.match(rest)
    if _HALF_OBJECT.match(rest):
        state.cut_off("smol_action", "inside the call", start, shown=shown)
    elif half and state.tools.begins(half[1]):
        state.cut_off("react", "before the input of the action", start, half[1], shown)
    else:
        src.pos = after


def _recipient(state: ScanState, shown: str = "") -> Reading[None]:
    src, row, start = state.src, BY_NAME["functionary_v32"], state.src.at
    starts = [_TO_ALL, tag_pattern(row.body.start)]
    chosen = yield from src.match_first(starts)
    named = starts[1].match(src.buf, src.pos) if chosen else None
    if chosen == 0 and (found := _TO_ALL.match(src.buf, src.pos)):
        src.pos = found.end()
        state.output.drop(src.at)
        state.last_row = row
    elif named and state.tools.resolve(named["name"]):
        state.last_row = row
        state.conclude((yield from state.read_body(row, Region(start, pretty=True))), shown=shown)
    elif (half := _HALF_RECIPIENT.match(src.tail() or "")) and state.tools.begins(half[1]):
        state.cut_off(row.name, "before the arguments", start, half[1], shown)
    else:
        src.pos += len(">>>")


def _may_name(text: str, names: tuple[str, ...]) -> bool:
    """Whether more of an answer that begins like this may name who it is for, where the prompt holds the first token
    of its turn."""
    half = _HALF_NAME.fullmatch(text)
    known = (*names, "all")
    named = half is not None and (half[1] in known if half[2] else any(one.startswith(half[1]) for one in known))
    return named or _HALF_TO.fullmatch(text) is not None


def read_opening(state: ScanState) -> Reading[None]:
    """Read the recipient with which an answer begins: Functionary's without its `>>>`, Muse's without `<|start|>`."""
    src, names = state.src, state.tools.names
    if state.level == "none":
        return
    while not src.ended and len(src.buf) - src.pos <= _LONGEST and _may_name(src.buf[src.pos :], names):
        yield
    if found := _TO.match(src.buf, src.pos):
        src.pos = found.end()
        state.output.drop(src.at)
        if found["self"]:
            state.held = True
            yield from src.find(_MESSAGE_ENDS, "<", 16)
            state.output.drop(src.at, "thought")
    elif ((found := _NAME.match(src.buf, src.pos)) and found["name"] in names) or _TO_ALL.match(src.buf, src.pos):
        state.held = True
        yield from _recipient(state)
    state.held = False
