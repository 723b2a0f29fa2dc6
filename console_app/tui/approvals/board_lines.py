"""The lines of the approval board as styled text: a row a call, what the selected one is, its rule, the keys."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from console_app.domain.safe_text import one_line
from console_app.tui.approvals.risk import RISK_COLOURS, WORD
from console_app.tui.approvals.selection import PendingApproval
from console_app.tui.transcript_view.json_view import brief_arguments
from console_app.tui.widgets.key_lines import key_lines

MOST_OTHERS = 2  # rules that are for another server
MOST_LABEL = 40  # cells of `server · tool` in a row

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
_RULE = (("enter", "write the rule and run"), ("j/k", "another rule"), ("esc", "back"))
_WORDS = (("enter", "deny"), ("esc", "back"))
_COMMENT = (("enter", "keep it: it goes along with what you decide"), ("esc", "back"))


def row(
    number: int, approval: PendingApproval, selected: bool, label: int, width: int, now: float, alike: bool
) -> Content:
    """One waiting call in `width` cells; `label` are those of the longest name. Why it asks is said where the calls are
    not `alike` in that."""
    call = approval.call
    name = f"{one_line(call.label, MOST_LABEL):<{min(label, MOST_LABEL)}}"
    left = "" if approval.until is None else f"  {max(approval.until - now, 0):.0f} s"
    why = "" if alike else one_line(call.why, max(width // 3, 12))
    line = Content.styled(f"{'▸' if selected else ' '} {number + 1:>2} ", "bold $warning" if selected else "$muted")
    line += Content.styled(f"{approval.risk.word:<{WORD}}  ", RISK_COLOURS[approval.risk.word])
    line += Content.styled(name, "bold $foreground" if selected else "$foreground")
    room = width - line.cell_length - len(why) - len(left) - 4
    brief = one_line(brief_arguments(call.arguments or {}, room), room) if room >= 8 else ""
    line += Content.styled(f"  {brief}", "$foreground" if selected else "$muted")
    pad = width - line.cell_length - len(why) - len(left)
    if pad >= 2:
        line += Content(" " * pad) + Content.styled(why, "$warning" if selected else "$muted")
    return line + Content.styled(left, "$warning")


def header(approval: PendingApproval, hidden: bool, width: int, comment: str = "") -> list[Content]:
    """What the selected call is, why it asks, what to look out for, and your words for the model."""
    call = approval.call
    line = Content.styled(one_line(call.label, 60), "bold $foreground")
    line += Content.styled(f"  {one_line(call.why, 200)}", "$warning")
    line += Content.styled(" · ", "$muted") + Content.styled(approval.risk.word, RISK_COLOURS[approval.risk.word])
    line += Content.styled(f" ({approval.risk.by})", "$muted")
    if not approval.rules and not approval.changed:
        line += Content.styled(" · always asks", "$warning")
    lines = [line]
    if approval.runs:
        lines.append(Content.styled(_middle_cut(f"runs  {one_line(approval.runs)}", width), "$muted"))
    marks = Content.styled("+", "$success") + Content.styled(" new  - was", "$muted")
    if approval.before is not None and approval.before != call.arguments:
        lines[0] += Content("   ") + marks if line.cell_length + 16 <= width else Content("")
    for other in approval.others[:MOST_OTHERS]:
        rule = f"! {one_line(str(other.rule), 60)}"
        words = (
            f"{rule} is for  {one_line(other.bound)}"
            if other.bound
            else f"{rule}, yours, is not for this file's servers"
        )
        lines.append(Content.styled(_middle_cut(words, width), "bold $warning"))
    if approval.changed:
        words = "! the tool isn't what you trusted; approving trusts it as it is now"
        lines.append(Content.styled(f"{words}   ", "bold $warning") + marks)
    if hidden:
        lines.append(
            Content.styled("! holds invisible or direction-changing characters, marked as <U+...>", "bold $error")
        )
    if comment:
        lines.append(Content.styled("your words: ", "$muted") + Content.styled(one_line(comment, 200), "$accent"))
    return lines


def _middle_cut(text: str, width: int) -> str:
    """Both ends say what a command is: the program, and what it is pointed at."""
    if len(text) <= width:
        return text
    head = (width - 1) // 2
    return f"{text[:head]}…{text[-(width - 1 - head) :]}"


def rule_lines(approval: PendingApproval, choice: int, path: str, width: int) -> list[Content]:
    """The rule that would be written, others to choose from, and where."""
    path = one_line(path)
    if len(path) > width - 12:
        path = "…" + path[-max(width - 13, 8) :]  # its end says more
    where = f"Written to {path}" if path else "Written nowhere: it holds until you leave"
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
    stage: str, width: int, *, counts: bool, held: bool, rules: bool, many: bool = True, reads: bool = True
) -> list[Content]:
    """The keys of a stage, on as many lines as they need; faint while they don't count."""
    if stage == "away":
        return key_lines([("tab", "to review")], width, accent="$warning", counts=True)
    shown: Sequence[tuple[str, str]] = {"rule": _RULE, "words": _WORDS, "comment": _COMMENT}.get(stage, _CHOOSING)
    if not rules and stage == "choosing":
        shown = [pair for pair in shown if pair[0] not in ("a", "A")]
    if stage == "choosing":
        none = {*(() if many else ("Y", "N", "j/k")), *(() if many and reads else ("R",))}
        shown = [pair for pair in shown if pair[0] not in none]
    return key_lines(shown, width, accent="$warning", counts=(counts or stage in ("words", "comment")) and not held)
