"""Tells what a marker or a label opens: which dialect follows it, and what to make of one that none follows.

Labels stand at the start of a line: `Action:` and what may follow it, `Observation:`, and the recipients of Functionary
and Muse, with which an answer may begin."""

import re
from functools import cache

from console_app.records import replace
from console_app.textcalls.bodies.draft import Region
from console_app.textcalls.bodies.tag_body import TagBody, tag_pattern, tool_tag
from console_app.textcalls.dialects.coats import CLOSE, OPEN, PLAIN_OPENS, UNPAIRED, is_marked
from console_app.textcalls.dialects.table import COATED, ROWS, Dialect
from console_app.textcalls.openings.bare import pass_separator
from console_app.textcalls.openings.openers import BEGINS
from console_app.textcalls.openings.position import Place
from console_app.textcalls.openings.scan_state import ScanState
from console_app.textcalls.patterns import ACTION, ACTION_INPUT, IDENT, compiled, first_of, label, lazily, partly
from console_app.textcalls.source import LOOKAHEAD, Reading

_HALF_WORD = lazily(r"[\w.:/-]+\s*(?:$|[<\[({`])")
_JSON_ONLY = PLAIN_OPENS - {"<function_call>"}
_TAG = lazily(rf"\s*<(?P<name>{IDENT})\s*/?>")
_REST_OF_TAG = lazily(r"[^<>\n]{0,200}>")
_DEFINES = lazily(r"[\"'](?:parameters|description|input_?[sS]chema)[\"']\s*:")
_CHANNEL = lazily(
    r"(?:<\|start\|>\s*(?P<role>\w*)[^<]*)?(?:<\|channel\|>\s*(?P<channel>\w*)[^<]*)?(?:<\|constrain\|>[^<]*)?<\|message\|>"
)
_TO_TOOL = lazily(r"\sto=(?!(?:assistant|user|self|commentary|all|developer)\b)")
_TO_USER = lazily(r"\sto=user\b")
_ASIDE = "in what is said to the user"
_CHANNEL_ENDS = lazily(r"<\|(?:end|eom|eot|start|channel|call|return)\|>")
_LABEL = lazily(ACTION)
_OBSERVATION = lazily(label("Observation"))
_OBJECTS = lazily(rf"{ACTION}\s*(?P<fence>```\w*\s*)?(?=\{{\s*[\"'\w]|\[\s*\{{)")
_NAMED = lazily(ROWS["react"].body.start)
_INPUTS = [f"{mark}{word}:" for word in ("Action Input", "ACTION INPUT", "Action Input ") for mark in ("", "**")]
_HALF = lazily(rf"{ACTION}[ \t]*`?([\w.\-]+)`?[ \t]*(?:\r?\n\s*(?:{partly(_INPUTS)}|{ACTION_INPUT}\s*)?)?$")
_NO_INPUT = lazily(rf"{ACTION}[ \t]*(?P<name>[\w.\-]+)[ \t]*\r?\n\s*(?={label('Observation')})")
_HALF_OBJECT = lazily(rf"{ACTION}\s*(?:```\w*\s*$|(?:```\w*\s*)?[\[{{]\s*(?:$|[\"'{{]))")
_TO_ALL = lazily(r"(?:>>>)?all[ \t]*\r?\n")
_HALF_RECIPIENT = lazily(r">>>([\w.-]+)\s*$")
_TO = lazily(r"\s*to=(?:(?P<self>self)|user|commentary|[\w.-]+(?=<\|message\|>\s*<\w+:function_calls))<\|message\|>")
_TO_CALL = lazily(r"\s*?(?P<to>[ ]?to=(?!(?:user|self|commentary)\b)[^\s<]+<\|channel\|>)")
_HALF_TO = lazily(r"\s*t(?:o(?:=[^\s<]*(?:<[|\w]*>?\s*(?:<[\w:]*)?)?)?)?")
_NAME = lazily(r"(?P<name>\S+)[ \t]*\r?\n\s*\{")
_HALF_NAME = lazily(r"\s*(\S*)([ \t\r]*(?:\n\s*)?)")
_MESSAGE_ENDS = lazily(r"<\|(?:eom|eot|start|end)\|>")
_LONGEST = 120


def read_marker(state: ScanState, token: str, *, inside: bool = False) -> Reading[None]:
    """Read what a marker opens; `inside`: it is the beginning of the body."""
    src, place = state.src, state.place()
    bars = "<|" if token.startswith(("<|", "<｜")) else "<"
    body = "harmony" if token in BEGINS else "tags"
    starts, rows = _choices(body if inside else token if token in _JSON_ONLY else bars)
    chosen = yield from src.match_first(starts, 0 if inside else len(token))
    if chosen is None and not inside:
        tag = _TAG.match(src.buf, src.pos + len(token), src.pos + LOOKAHEAD)
        chosen = 0 if tag and state.tools.resolve(tag["name"]) else None
    if chosen is None:
        if token in ("<|channel|>", "<|start|>"):
            yield from _channel(state)
        else:
            yield from _no_body(state, token, place, inside)
        return
    row = rows[chosen]
    if row is None:
        src.pos += len(token)
        state.section = token
        if place.quoted or state.level == "none":
            state.shown_section = True
            return
        state.output.suspect(place.doubt(licensed=state.licensed is not None))
        state.output.drop(src.at)
        return
    pretty = src.buf.startswith(("\n", "\r\n"), src.pos + len(token)) and not inside
    closes = row.closes if not row.coated else f"(?:{CLOSE}|{row.closes})" if row.closes else CLOSE
    region = Region(src.at, token, OPEN, closes, pretty, token not in UNPAIRED)
    src.pos += 0 if inside else len(token)
    shown = place.quoted or ("its section is only shown" if state.shown_section else "")
    draft = yield from state.read_body(row, region, is_marked(token), mute=bool(shown))
    if token == "<tools>" and _DEFINES.search(src.text(region.start, src.at)):
        shown = "it defines tools"
    state.conclude(draft, shown=shown, place=place)


@cache
def _choices(token: str) -> tuple[re.Pattern[str], tuple[Dialect | None, ...]]:
    """A pattern of what may stand behind a marker, and the row of each choice; None for one that only groups calls. In
    place of a marker: "tags" or "harmony", for the bodies that begin with a tag in any coat, or with Harmony's."""
    if token in ("tags", "harmony"):
        tagged = tuple(row for row in COATED if isinstance(row.body, TagBody) or row.name == "cwm")
        bodies = tagged if token == "tags" else (ROWS["harmony"],)
        return first_of(*(row.body.start for row in bodies)), bodies
    rows = (ROWS["hermes_json"],) if token in _JSON_ONLY else COATED
    starts = [r"\s*\[(?=\s*\{)" if token == "functools" else row.body.start for row in rows]
    nothing = f"|{CLOSE}" if token.startswith(("<|", "<｜")) else ""
    return first_of(rf"\s*(?:{OPEN}{nothing})", *starts), (None, *rows)


def _no_body(state: ScanState, token: str, place: Place, inside: bool) -> Reading[None]:
    """Read a marker without a call: cut off, or a mistake at the start of a line, or a mention of it in text."""
    src, start, weak = state.src, state.src.at, token in PLAIN_OPENS or token == "to=functions."
    dialect = "harmony" if token in BEGINS else "qwen3_coder_xml" if inside else "hermes_json"
    rest = src.tail(len(token))
    if rest is not None and not compiled(CLOSE).search(rest):
        tag, end, behind = rest.partition(">")
        body = (behind if inside else rest).lstrip()
        cut = body[:1] in ("", "<", "]", "{") if end else "\n" not in tag
        if not inside:
            cut = body[:1] in ("", *'<[{]`"') or _HALF_WORD.match(body) is not None
        mentioned = not place.line_start and rest[:1] in (" ", "\t")
        if cut and not (rest.strip() and (weak or mentioned)):
            state.cut_off(dialect, "where the call should begin", start)
            return
    src.pos += len(token)
    if weak or not place.line_start or place.quoted:
        return
    draft = state.new_draft(dialect)
    region = Region(start, token, re.escape(token), CLOSE)
    yield from region.fail_and_skip(src, draft, start, "what follows the opening tag is no call")
    if not compiled(rf"{CLOSE}\Z").search(src.text(max(start, src.at - 80), src.at)):
        src.rewind(start + len(token))
        if inside and (rest_of_tag := _REST_OF_TAG.match(src.buf, src.pos)):
            src.pos = rest_of_tag.end()
    state.conclude(draft)


def read_tool_tag(state: ScanState, token: str) -> Reading[None]:
    """Read a call whose tag is the tool's own name."""
    src, row = state.src, ROWS["roo_xml"]
    name = token.strip("</> ")
    opening = tool_tag(token, name, tuple(state.tools.properties(state.tools.resolve(name) or name)))
    place = state.place()
    if (yield from src.match(opening)) is None:
        rest = src.tail(len(token))
        if rest is not None and not place.withheld and re.fullmatch(r"\s*(?:<[\w/.-]*)?", rest):
            state.cut_off(row.name, "where its parameters should begin", src.at, name)
        else:
            src.pos += len(token)
        return
    region = Region(src.at, token)
    draft = yield from state.read_body(row, region)
    yield from state.conclude_in_line(draft, place.quoted)


def _channel(state: ScanState) -> Reading[None]:
    """Read a harmony header that calls nothing: analysis is reasoning, other channels are text."""
    src, output, start = state.src, state.output, state.src.at
    header = yield from src.match(_CHANNEL)
    if header is None:
        rest = src.tail()
        if rest is not None and "to=" in rest:
            state.cut_off("harmony", "in the header of the call", start)
            return
        src.pos = len(src.buf) if rest is not None else src.pos + len("<|start|>")
        output.drop(src.at)
        return
    src.pos = header.end()
    state.structure.aside = _ASIDE if _TO_USER.search(header.group()) else ""
    if _TO_TOOL.search(header.group()) and not (src.tail() or "").strip() and src.tail() is not None:
        state.cut_off("harmony", "where the arguments should begin", start)
        return
    if "<|constrain|>" in header.group():
        draft, region = state.new_draft("harmony"), Region(start, closes=ROWS["harmony"].closes)
        yield from region.fail_and_skip(src, draft, start, "its header names no tool")
        state.conclude(draft)
        return
    output.drop(src.at)
    if header.group("channel") == "analysis" or " to=self<" in header.group():
        yield from src.find(_CHANNEL_ENDS, "<", 16)
        output.drop(src.at, "thought")
    elif header.group("channel") == "final":
        state.held = False
        yield from src.find(_CHANNEL_ENDS, "<", 16)
        output.show(src.at)


def read_label(state: ScanState, token: str) -> Reading[None]:
    """Read what a label announces; anywhere but at the start of a line a whole call asks, and half of one is text."""
    src, place = state.src, state.place()
    if token == ">>>":
        yield from _recipient(state, place)
    elif "observation" not in token.lower():
        yield from _action(state, place)
    elif place.line_start and not place.blockquote and (yield from src.match(_OBSERVATION, 24)):
        yield from state.cut(token, place)
    else:
        src.pos += len(token)


def _action(state: ScanState, place: Place) -> Reading[None]:
    src, start, shown = state.src, state.src.at, place.quoted
    starts = [_OBJECTS, _NAMED, _NO_INPUT]
    chosen = yield from src.match_first(first_of(*(one.pattern for one in starts)))
    found = None if chosen is None else starts[chosen].match(src.buf, src.pos)
    after = _LABEL.match(src.buf, src.pos)
    if found is None or (chosen and state.tools.resolve(found["name"]) is None):
        rest = src.tail(limit=LOOKAHEAD) or ""
        half = _HALF.match(rest)
        if _HALF_OBJECT.match(rest):
            state.cut_off("smol_action", "inside the call", start, shown=place.withheld)
        elif half and state.tools.begins(half[1]):
            state.cut_off("react", "before the input of the action", start, half[1], place.withheld)
        else:
            src.pos = after.end() if after else src.pos + 1
        return
    row = ROWS["react" if chosen else "smol_action"]
    if chosen == 2:
        src.pos = found.end()
        draft = state.new_draft(row.name)
        draft.done_loosely(found["name"], None, start, src.at)
        yield from state.conclude_in_line(draft, shown)
        return
    label_read = "" if chosen or after is None else after.group()
    src.pos += len(label_read)
    opens = re.escape(label_read)
    draft = yield from state.read_body(row, Region(start, label_read, opens, row.closes, pretty=True, required=False))
    if not chosen and found["fence"]:
        langchain = '"action"' in src.text(start, min(src.at, start + 600))
        draft.dialect = "langchain_action_fence" if langchain else "command_r"
        draft.attempts = [replace(attempt, dialect=draft.dialect) for attempt in draft.attempts]
        if src.text(src.at - 1, src.at) != "`" and (yield from src.ahead()) not in ("", "<"):
            shown = shown or "more than calls stands in its fence"
    yield from state.conclude_in_line(draft, shown)
    yield from pass_separator(state)


def _recipient(state: ScanState, place: Place) -> Reading[None]:
    src, row, start = state.src, ROWS["functionary_v32"], state.src.at
    starts = [_TO_ALL, tag_pattern(row.body.start)]
    chosen = yield from src.match_first(first_of(*(one.pattern for one in starts)))
    named = starts[1].match(src.buf, src.pos) if chosen else None
    if chosen == 0 and (found := _TO_ALL.match(src.buf, src.pos)):
        src.pos = found.end()
        state.output.drop(src.at)
        state.last_row = row
    elif named and state.tools.resolve(named["name"]):
        goes_on, state.last_row = state.last_row is row, row
        draft = yield from state.read_body(row, Region(start, pretty=True))
        if goes_on:
            state.conclude(draft, place.quoted)
        else:
            yield from state.conclude_in_line(draft, place.quoted)
    elif (half := _HALF_RECIPIENT.match(src.tail() or "")) and state.tools.begins(half[1]):
        state.cut_off(row.name, "before the arguments", start, half[1], place.withheld)
    else:
        src.pos += 1  # it may begin with the end of a tag


def read_opening(state: ScanState) -> Reading[None]:
    """Read the recipient with which an answer begins: Functionary's without its `>>>`, Muse's without `<|start|>`."""
    src, names = state.src, state.tools.names
    known = (*names, "all")
    while not src.ended and len(src.buf) - src.pos <= _LONGEST:  # where the prompt holds the first token of the turn
        text = src.buf[src.pos :]
        half = _HALF_NAME.fullmatch(text)
        named = half and (half[1] in known if half[2] else any(one.startswith(half[1]) for one in known))
        if not named and not _HALF_TO.fullmatch(text):
            break
        yield
    near = src.buf[src.pos : src.pos + _LONGEST]
    if found := _TO_CALL.match(near):
        src.pos += found.start("to")
        state.output.show(src.at)
        state.held = True
        yield from read_marker(state, "to=functions.", inside=True)
    elif state.level == "none":
        return
    elif found := _TO.match(near):
        src.pos += found.end()
        state.output.drop(src.at)
        state.structure.aside = _ASIDE if "to=user" in found.group() else ""
        if found["self"]:
            state.held = True
            yield from src.find(_MESSAGE_ENDS, "<", 16)
            state.output.drop(src.at, "thought")
    elif ((found := _NAME.match(near)) and found["name"] in names) or _TO_ALL.match(near):
        state.held = True
        yield from _recipient(state, state.place())
    state.held = False
