"""The lines of the approval board as styled text: a row a call, what the selected one is, its rule, the keys."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from console_app.domain.safe_text import one_line
from console_app.tui.approvals.selection import PendingApproval
from console_app.tui.transcript_view.json_view import brief_arguments
from console_app.tui.widgets.key_lines import key_lines

MOST_LABEL = 40  # cells of `server · tool` in a row

_CHOOSING = (
    ("y", "once"),
    ("a", "this session"),
    ("A", "always"),
    ("n", "deny"),
    ("f", "deny and say why"),
    ("e", "edit"),
    ("c", "comment"),
    ("Y/N", "all"),
    ("j/k", "row"),
    ("esc", "later"),
)
_RULE = (("enter", "write the rule and run"), ("j/k", "another rule"), ("esc", "back"))
_WORDS = (("enter", "deny"), ("esc", "back"))
_COMMENT = (("enter", "keep it: it goes along with what you decide"), ("esc", "back"))


def row(number: int, approval: PendingApproval, selected: bool, label: int, width: int, now: float) -> Content:
    """One waiting call in `width` cells; `label` are those of the longest name."""
    call = approval.call
    name = f"{one_line(call.label, MOST_LABEL):<{min(label, MOST_LABEL)}}"
    left = "" if approval.until is None else f"  {max(approval.until - now, 0):.0f} s"
    why = one_line(call.why, max(width // 3, 12))
    line = Content.styled(f"{'▸' if selected else ' '} {number + 1:>2} ", "bold $warning" if selected else "$muted")
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
    if approval.traits:
        line += Content.styled(f" · {approval.traits}", "$muted")
    if not approval.rules and not approval.changed:
        line += Content.styled(" · always asks", "$warning")
    lines = [line]
    marks = Content.styled("+", "$success") + Content.styled(" new  - was", "$muted")
    if approval.before is not None and approval.before != call.arguments:
        lines[0] += Content("   ") + marks if line.cell_length + 16 <= width else Content("")
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


def rule_lines(approval: PendingApproval, choice: int, path: str, width: int) -> list[Content]:
    """The rule that would be written, others to choose from, and where."""
    path = one_line(path)
    if len(path) > width - 12:
        path = "…" + path[-max(width - 13, 8) :]  # its end says more
    where = f"Written to {path}" if path else "Written nowhere: it holds until you leave"
    lines = [
        Content.styled("Run without asking, from now on, what matches this rule?", "$foreground"),
        Content.styled(where, "$muted"),
    ]
    for n, rule in enumerate(approval.rules):
        here = n == choice
        text = Content.styled(f" {'▸' if here else ' '} ", "bold $warning")
        text += Content.styled("[rules] allow  " if here else "               ", "$muted")
        lines.append(text + Content.styled(one_line(rule, 200), "bold $foreground" if here else "$muted"))
    return lines


def keys(stage: str, width: int, *, counts: bool, held: bool, rules: bool) -> list[Content]:
    """The keys of a stage, on as many lines as they need; faint while they don't count."""
    if stage == "away":
        return key_lines([("tab", "brings you here to decide")], width, accent="$warning", counts=True)
    shown: Sequence[tuple[str, str]] = {"rule": _RULE, "words": _WORDS, "comment": _COMMENT}.get(stage, _CHOOSING)
    if not rules and stage == "choosing":
        shown = [pair for pair in shown if pair[0] not in ("a", "A")]
    return key_lines(shown, width, accent="$warning", counts=(counts or stage in ("words", "comment")) and not held)
