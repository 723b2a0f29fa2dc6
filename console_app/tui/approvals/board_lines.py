"""The lines of the approval board as styled text: a row a call, what the selected one is, its rule, the keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from textual.content import Content

from console_app.console import Pending, files
from console_app.domain import one_line, safe_text
from console_app.domain.tools import RiskWord
from console_app.tui.approvals.selection import ApprovalSelection
from console_app.tui.lineview import brief_arguments
from console_app.tui.widgets.key_hints import REPLAYED, key_lines

RISK_COLOURS: Mapping[RiskWord, str] = {
    "reads": "$success",
    "edits": "$accent",
    "creates": "$accent",
    "runs": "$warning",
    "deletes": "bold $error",
    "network": "$secondary",
    "changes": "$warning",
}
WORD = max(map(len, RISK_COLOURS))  # cells of the longest word


HINTS = {  # of the field for words
    "words": "Why not? The model reads this.",
    "comment": "A note for the model, allowed or denied",
}
MOST_OTHERS = 2  # rules that are for another server
USUAL_WHY = "not pre-approved"  # why most calls ask
MOST_LABEL = 40  # cells of `server · tool` in a row
PLAIN = 40  # characters of a text that a row says whole

_OF_ITS_ROW = frozenset(("y", "n", "f", "e"))  # which count while other rows come
_RULE = (("enter", "write the rule and run"), ("↑↓", "another rule"))
_WORDS = (("enter", "say no"),)
_COMMENT = (("enter", "keep it for what you decide"),)


@dataclass(frozen=True, slots=True)
class RowSizes:
    """Holds the cells of a row and the name of each call. `alike`: all ask for the same reason, which no row says then.
    `replayed`: nobody knows any more what the calls may do."""

    width: int
    names: Mapping[str, str]
    alike: bool
    replayed: bool = False


def row_sizes(waiting: Sequence[Pending], width: int, *, replayed: bool = False) -> RowSizes:
    """Measure the columns that the rows of these calls share."""
    servers: dict[str, set[str]] = {}
    for one in waiting:
        servers.setdefault(one.call.tool, set()).add(one.call.server)
    calls = [one.call for one in waiting]
    names = {call.id: call.tool if len(servers[call.tool]) == 1 and call.tool else call.label for call in calls}
    whose = {call.id: f"{call.agent}: " if call.agent else "" for call in calls}
    names = {call_id: one_line(f"{whose[call_id]}{name}", MOST_LABEL) for call_id, name in names.items()}
    return RowSizes(width, names, len({approval.call.why for approval in waiting}) == 1, replayed)


def row(approval: Pending, selected: bool, sizes: RowSizes, now: float, *, opened: bool = False) -> Content:
    """A waiting call in a line, as in its batch, with its risk in front. `opened`: its arguments stand below."""
    call = approval.call
    name = sizes.names.get(call.id, one_line(call.tool, MOST_LABEL))
    why, left = _beside(approval, sizes, now)
    line = Content.styled("▸ " if selected else "  ", "bold $warning")
    if not sizes.replayed:
        line += Content.styled(f"{approval.risk.word:<{WORD}}  ", RISK_COLOURS[approval.risk.word])
    line += Content.styled(name, "bold $foreground" if selected else "$foreground")
    room = _room(approval, sizes, why, left)
    told = one_line(brief_arguments(call.arguments or {}, room), room) if room >= 8 and not opened else ""
    line += _marked(Content.styled(f"  {told}", "$foreground" if selected else "$muted"), approval)
    pad = sizes.width - line.cell_length - len(why) - len(left)
    if pad >= 2:
        line += Content(" " * pad) + Content.styled(why, "$warning" if selected else "$muted")
    return line + Content.styled(left, "$warning")


def more(above: int, below: int) -> str:
    """Say how many rows of a cut list are out of sight; "" for none."""
    parts = (f"↑ {above}" if above else "", f"↓ {below}" if below else "")
    return f"{' '.join(filter(None, parts))} more" if above or below else ""


def brief(approval: Pending, width: int, *, replayed: bool) -> Content:
    """A waiting call in the line of a folded board."""
    line = Content.styled("▸", "bold $warning")
    if not replayed:
        line += Content.styled(f" {approval.risk.word} ", RISK_COLOURS[approval.risk.word])
    line += Content.styled(f" {one_line(approval.call.tool or approval.call.name, MOST_LABEL)}  ", "bold $foreground")
    room = max(width - line.cell_length, 1)
    return line + Content.styled(one_line(brief_arguments(approval.call.arguments or {}, room), room), "$foreground")


def says_all(approval: Pending, sizes: RowSizes, now: float) -> bool:
    """Tell whether a call's row shows every argument whole and as it is, with nothing else to know."""
    arguments = approval.call.arguments or {}
    if approval.needs_a_look:
        return False
    for name, value in arguments.items():
        plain = isinstance(value, bool | int | float) or (isinstance(value, str) and len(value) <= PLAIN)
        if not plain or not all(
            safe_text.is_safe(text) and text.isprintable() and "  " not in text for text in (str(name), str(value))
        ):
            return False
    return cell_len(brief_arguments(arguments, 1000)) <= _room(approval, sizes, *_beside(approval, sizes, now))


def _beside(approval: Pending, sizes: RowSizes, now: float) -> tuple[str, str]:
    left = "" if (end := approval.left) is None else f"  {max(end[1] - now, 0):.0f} s"
    return "" if sizes.alike else one_line(approval.call.why, max(sizes.width // 3, 12)), left


def _room(approval: Pending, sizes: RowSizes, why: str, left: str) -> int:
    return sizes.width - 4 - WORD - 2 - cell_len(sizes.names.get(approval.call.id, "")) - len(why) - len(left) - 4


def _marked(line: Content, approval: Pending) -> Content:
    for begin, end in approval.risk.dangers_in(line.plain):
        line = line.stylize("bold $error", begin, end)
    return line


def header(approval: Pending, hidden: bool, sizes: RowSizes, comment: str = "") -> list[Content]:
    """The lines about the selected call that its row leaves out: an unusual reason, warnings, your own words."""
    call = approval.call
    lines: list[Content] = []
    usual = call.why == USUAL_WHY or not sizes.alike  # then its row says it
    parts = [] if usual else [Content.styled(one_line(call.why, 200), "$warning")]
    if not (approval.rules or approval.changed or approval.form or sizes.replayed):
        parts.append(Content.styled("always asks", "$warning"))
    if call.origin == "text" and not call.form:
        parts.append(Content.styled(f"read from text ({call.dialect})".replace(" ()", ""), "$muted"))
    for part in parts:
        if lines and lines[-1].cell_length + 3 + part.cell_length <= sizes.width:
            lines[-1] += Content.styled(" · ", "$muted") + part
        else:
            lines.append(part)
    marks = Content.styled("+", "$success") + Content.styled(" new  - was", "$muted")
    for other in approval.others[:MOST_OTHERS]:
        rule = f"! {one_line(str(other.rule), 60)}"
        words = (
            f"{rule} is for another server than it runs"
            if other.bound
            else f"{rule}, yours, is not for this file's servers"
        )
        lines.append(Content.styled(one_line(words, sizes.width), "bold $warning"))
    if approval.changed:
        words = "! not the tool you trusted; approving trusts it as it is"
        lines.append(Content.styled(f"{words}   ", "bold $warning") + marks)
    if approval.wrong:
        lines.append(Content.styled(one_line(f"! {approval.wrong}", sizes.width), "bold $warning"))
    if hidden:
        lines.append(
            Content.styled("! holds invisible or direction-changing characters, marked as <U+...>", "bold $error")
        )
    if comment:
        lines.append(Content.styled("your words: ", "$muted") + Content.styled(one_line(comment, 200), "$accent"))
    return lines


def warned(change: files.FileChange | None, sizes: RowSizes) -> list[Content]:
    """Warn about the file that a call would change, beside the diff or where there is none."""
    words = change.warning if change is not None else ""
    return [Content.styled(one_line(f"! {words}", sizes.width), "bold $warning")] if words else []


def rule_lines(approval: Pending, choice: int, path: str, width: int) -> list[Content]:
    """The rule that would be written, others to choose from, and where."""
    path = one_line(path)
    if len(path) > width - 12:
        path = "…" + path[-max(width - 13, 8) :]  # its end says more
    where = f"Written to {path}" if path else "Not saved: for this session only"
    lines = [
        Content.styled("Always allow calls matching:", "$foreground"),
        Content.styled(where, "$muted"),
    ]
    for n, rule in enumerate(approval.rules):
        here = n == choice
        text = Content.styled(f" {'▸' if here else ' '} ", "bold $warning")
        text += Content.styled("[rules] allow  " if here else "               ", "$muted")
        lines.append(text + Content.styled(one_line(rule, 200), "bold $foreground" if here else "$muted"))
    return lines


def keys(selection: ApprovalSelection, width: int, *, here: bool = True, replayed: bool = False) -> list[Content]:
    """The answers to the selected call, each with its key; faint while they don't count. `here`: the board has the
    focus."""
    if replayed:
        return [Content.styled(REPLAYED, "$muted")]
    current, stage = selection.current, selection.stage
    if not here or current is None:
        return []
    others = {"rule": _RULE, "words": _WORDS, "comment": _COMMENT}
    shown = others[stage] if stage != "choosing" else _answers(current)
    typing = stage in ("words", "comment")
    counts: bool | frozenset[str] = (selection.keys.settled or typing) and selection.keys.holds is None
    if stage == "choosing" and not selection.keys.settled and selection.keys.settled_here:
        counts = _OF_ITS_ROW
    return key_lines(shown, width, accent="$warning", counts=counts, clicks=not typing)


def _answers(current: Pending) -> Sequence[tuple[str, str]]:
    if current.form:
        said = current.answers
        yes = [("y", said["once"]), ("a", said["form"]), ("n", said["deny"])]
    else:
        more = [("a", f"and {one_line(current.rules[0], 40)} for this session")] if current.rules else []
        yes = [("y", "run it"), *more, ("n", "no")]
    return [*yes, ("f", "no, and say why"), ("e", "change it")]
