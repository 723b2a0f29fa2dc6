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
    "changes": "$warning",
    "may destroy": "bold $error",
    "network": "$accent",
    "unknown": "$warning",
}
WORD = max(map(len, RISK_COLOURS))  # cells of the longest word


HINTS = {  # of the field for words
    "words": "Why not? The model reads this.",
    "comment": "A note for the model, allowed or denied",
}
MOST_OTHERS = 2  # rules that are for another server
MOST_LABEL = 40  # cells of `server · tool` in a row
PLAIN = 40  # characters of a text that a row says whole

_CHOOSING = (
    ("y", "allow once"),
    ("a", "allow for session"),
    ("A", "always allow"),
    ("n", "deny"),
    ("f", "deny, say why"),
    ("e", "edit"),
    ("c", "comment"),
    ("Y", "allow all"),
    ("R", "allow reads"),
    ("N", "deny all"),
    ("j/k", "row"),
    ("esc", "decide later"),
)
_CHOOSING_LOW = (  # what is left of them where lines are few; F1 names all
    ("y", "allow once"),
    ("a", "for session"),
    ("A", "always"),
    ("n", "deny"),
    ("e", "edit"),
    ("c", "comment"),
    ("Y", "all"),
    ("R", "reads"),
    ("N", "none"),
    ("j/k", "row"),
    ("esc", "later"),
)
_OF_ITS_ROW = frozenset(("y", "n", "f", "e", "c", "j/k", "esc"))  # which count while other rows come
_RULE = (("enter", "write the rule and run"), ("j/k", "another rule"), ("esc", "back"))
_WORDS = (("enter", "deny"), ("esc", "back"))
_COMMENT = (("enter", "keep it for what you decide"), ("esc", "back"))


@dataclass(frozen=True, slots=True)
class RowSizes:
    """Holds the cells of a row and of its longest name.

    It also tells whether all rows ask for the same reason, which none says then. And it tells whether nobody knows any
    more what the calls may do.
    """

    width: int
    label: int
    alike: bool
    replayed: bool = False


def row_sizes(waiting: Sequence[Pending], width: int, *, replayed: bool = False) -> RowSizes:
    """Measure the columns that the rows of these calls share."""
    label = max(len(one_line(approval.call.label, MOST_LABEL)) for approval in waiting)
    return RowSizes(width, label, len({approval.call.why for approval in waiting}) == 1, replayed)


def row(approval: Pending, selected: bool, sizes: RowSizes, now: float) -> Content:
    """One waiting call in a line."""
    call = approval.call
    name = f"{one_line(call.label, MOST_LABEL):<{sizes.label}}"
    why, left = _beside(approval, sizes, now)
    line = Content.styled(
        f"{'▸' if selected else ' '} {approval.number or '':>2} ", "bold $warning" if selected else "$muted"
    )
    if not sizes.replayed:
        line += Content.styled(f"{approval.risk.word:<{WORD}}  ", RISK_COLOURS[approval.risk.word])
    line += Content.styled(name, "bold $foreground" if selected else "$foreground")
    room = _room(sizes, why, left)
    told = one_line(brief_arguments(call.arguments or {}, room), room) if room >= 8 else ""
    line += Content.styled(f"  {told}", "$foreground" if selected else "$muted")
    pad = sizes.width - line.cell_length - len(why) - len(left)
    if pad >= 2:
        line += Content(" " * pad) + Content.styled(why, "$warning" if selected else "$muted")
    return line + Content.styled(left, "$warning")


def more(above: int, below: int) -> str:
    """Say how many rows of a cut list are out of sight; "" for none."""
    parts = (f"↑ {above}" if above else "", f"↓ {below}" if below else "")
    return f"{' '.join(filter(None, parts))} more" if above or below else ""


def brief(approval: Pending, width: int, *, replayed: bool) -> Content:
    """One waiting call in the line of a folded board."""
    line = Content.styled("▸", "bold $warning")
    if not replayed:
        line += Content.styled(f" {approval.risk.word} ", RISK_COLOURS[approval.risk.word])
    line += Content.styled(f" {one_line(approval.call.label, MOST_LABEL)}  ", "bold $foreground")
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
    return cell_len(brief_arguments(arguments, 1000)) <= _room(sizes, *_beside(approval, sizes, now))


def _beside(approval: Pending, sizes: RowSizes, now: float) -> tuple[str, str]:
    """Return the reason why a call asks, and the seconds that it still does, for the end of its row."""
    left = "" if approval.until is None else f"  {max(approval.until - now, 0):.0f} s"
    return "" if sizes.alike else one_line(approval.call.why, max(sizes.width // 3, 12)), left


def _room(sizes: RowSizes, why: str, left: str) -> int:
    """Cells for the arguments."""
    return sizes.width - 5 - WORD - 2 - sizes.label - len(why) - len(left) - 4


def header(approval: Pending, hidden: bool, sizes: RowSizes, comment: str = "", *, many: bool = False) -> list[Content]:
    """Return the lines about the selected call that its row leaves out.

    They say why it asks, who says what it may do, what it runs, what to look out for, and your words for the model.
    Where there are no rows, they name the call too.
    """
    call = approval.call
    dot = Content.styled(" · ", "$muted")
    line = Content.styled(one_line(call.why, 200), "$warning")
    if not many:
        line = Content.styled(one_line(call.label, 60), "bold $foreground") + Content("  ") + line
    if not sizes.replayed:
        line += _risk(approval, many)
    lines = [line]
    written = f"read from text ({call.dialect})".replace(" ()", "") if call.origin == "text" and not call.form else ""
    runs = f"runs {one_line(approval.runs)}" if approval.runs and not approval.server_lines else ""
    if source := " · ".join(filter(None, (written, runs))):
        if line.cell_length + len(source) + 3 <= sizes.width:
            lines[0] += dot + Content.styled(source, "$muted")
        else:
            lines.append(Content.styled(_middle_cut(source, sizes.width), "$muted"))
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
    """Return the warning about the file that a call would change. It stands beside the diff, or where there is none."""
    words = change.warning if change is not None else ""
    return [Content.styled(one_line(f"! {words}", sizes.width), "bold $warning")] if words else []


def _risk(approval: Pending, many: bool) -> Content:
    """Say what the call may do, where no row says it, and who says so."""
    dot = Content.styled(" · ", "$muted")
    line = Content() if many else dot + Content.styled(approval.risk.word, RISK_COLOURS[approval.risk.word])
    line += dot + Content.styled(approval.risk.by, "$muted")
    if not approval.rules and not approval.changed and not approval.form:
        line += dot + Content.styled("always asks", "$warning")
    return line


def _middle_cut(text: str, width: int) -> str:
    """Cut a command in its middle: both ends say what it is, the program and what it is pointed at."""
    if len(text) <= width:
        return text
    head = (width - 1) // 2
    return f"{text[:head]}…{text[-(width - 1 - head) :]}"


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


def keys(
    selection: ApprovalSelection, width: int, *, here: bool = True, low: bool = False, replayed: bool = False
) -> list[Content]:
    """The keys of its stage, on as many lines as they need; faint while they don't count. `here` is the focus; on a
    `low` screen the arguments need the lines more than some of them do."""
    if replayed:
        return [Content.styled(REPLAYED, "$muted")]
    if not here:
        return key_lines([("tab", "to review")], width, accent="$warning", counts=True)
    stage, many = selection.stage, len(selection.waiting) > 1
    shown: Sequence[tuple[str, str]] = {"rule": _RULE, "words": _WORDS, "comment": _COMMENT}.get(
        stage, _CHOOSING_LOW if low else _CHOOSING
    )
    if stage == "choosing":
        current = selection.current
        rules = current is not None and bool(current.rules)
        if current is not None and current.form:
            words = {"y": current.answers["once"], "a": current.answers["form"], "n": current.answers["deny"]}
            shown = [(key, words.get(key, said)) for key, said in shown]
        reads = many and any(approval.only_reads for approval in selection.waiting)
        none = {
            *(() if rules else "A" if current is not None and current.form else "aA"),
            *(() if many else ("Y", "N", "j/k")),
            *(() if reads else "R"),
        }
        shown = [pair for pair in shown if pair[0] not in none]
    typing = stage in ("words", "comment")
    counts: bool | frozenset[str] = (selection.keys.settled or typing) and selection.keys.holds is None
    if stage == "choosing" and not selection.keys.settled and selection.keys.settled_here:
        counts = _OF_ITS_ROW
    return key_lines(shown, width, accent="$warning", counts=counts, clicks=not typing)
