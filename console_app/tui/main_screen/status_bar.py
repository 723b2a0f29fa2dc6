"""The line at the top: which model answers, how calls are run, what it costs. What doesn't fit drops from the right."""

from __future__ import annotations

from dataclasses import dataclass

from textual import events
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.style import Style
from textual.widget import Widget

from console_app.domain.amounts import tokens
from console_app.domain.approvals import ApprovalMode
from console_app.domain.safe_text import one_line

BAR_CELLS = 10
NAME = Content.styled("fanout", "bold $primary")
LEAST_NAME = 6  # cells of it that are worth showing
PART = "status part"  # in the style of what can be clicked
NAME_CELLS = 28  # of a model's or provider's name


@dataclass(frozen=True, slots=True)
class Status:
    """Everything the bar says. `context_window` is None when unknown, `cost` None when no price is known."""

    model: str = ""
    provider: str = ""
    strategy: str = "agentic"
    effort: str = ""  # how much the model thinks first, where that is said
    policy: str = "parallel"
    mode: ApprovalMode = ApprovalMode.ASK
    servers_ready: int = 0
    servers_starting: int = 0
    servers_failed: int = 0
    tools: int = 0
    protocol: str = "native"
    context: int = 0
    context_window: int | None = None
    cost: float | None = None
    storage: str = ""  # why this session is not being written, in a few words


def pieces(status: Status) -> list[Content]:
    """The parts of the bar, in order."""
    parts = [
        NAME,
        *((Content.styled(f"! {status.storage}", "bold $warning"),) if status.storage else ()),
        _model(status),
        _how(status),
        _part(_servers(status), "mcp"),
        Content.styled(status.protocol, "$accent" if status.protocol == "native" else "$warning"),
    ]
    if status.context or status.context_window:
        parts.append(_part(_context(status), "context"))
    if status.cost is not None:
        parts.append(Content.styled(f"${status.cost:.3f}" if status.cost < 10 else f"${status.cost:.2f}", "$muted"))
    return parts


def _part(content: Content, name: str) -> Content:
    """A part that can be clicked: `name` is a command, or the mode."""
    return content.stylize(Style.from_meta({PART: name}))


def _model(status: Status) -> Content:
    name, provider = one_line(status.model, NAME_CELLS), one_line(status.provider, NAME_CELLS)
    model = _part(_line((name, "$foreground"), (f" · {provider}", "$muted")), "model")
    if not status.effort:
        return model
    return model + _line((" · ", "$muted")) + _part(_line((f"effort {status.effort}", "$muted")), "effort")


def _how(status: Status) -> Content:
    policy, mode = _part(_line((status.policy, "$muted")), "policy"), _part(_line(_mode(status.mode)), "mode")
    return _line((status.strategy, "$foreground"), (" · ", "$muted")) + policy + _line((" · ", "$muted")) + mode


def _line(*parts: tuple[str, str]) -> Content:
    return Content("").join([Content.styled(text, style) for text, style in parts])


def _mode(mode: ApprovalMode) -> tuple[str, str]:
    match mode:
        case ApprovalMode.ASK:
            return "ask", "$muted"
        case ApprovalMode.AUTO:
            return "auto", "$accent"
        case ApprovalMode.PLAN:
            return "plan", "bold $accent"
        case ApprovalMode.YOLO:
            return "yolo", "bold $error"


def _servers(status: Status) -> Content:
    ready, starting, failed = status.servers_ready, status.servers_starting, status.servers_failed
    known = ready + starting + failed
    if failed:
        dot, count = ("✗", "$error"), f"{ready}/{known}"
    elif starting:
        dot, count = ("◌", "$warning"), f"{ready}/{known}"
    else:
        dot, count = ("●", "$success") if ready else ("○", "$muted"), str(ready)
    return _line(
        dot,
        (f" {count} server{'' if known == 1 else 's'}", "$muted"),
        (f" · {status.tools} tool{'' if status.tools == 1 else 's'}", "$muted"),
    )


def _context(status: Status) -> Content:
    window = status.context_window
    if not window:
        return _line(("context ", "$foreground"), (tokens(status.context), "$muted"))
    share = min(status.context / window, 1.0)
    filled = min(BAR_CELLS, round(share * BAR_CELLS) or (1 if status.context else 0))
    colour = "$error" if share > 0.9 else "$warning" if share > 0.75 else "$secondary"
    return _line(
        ("context ", "$foreground"),
        ("▰" * filled, colour),
        ("▱" * (BAR_CELLS - filled), "$muted"),
        (f" {tokens(status.context)} / {tokens(window)}", "$muted"),
    )


def _give_way(parts: list[Content], model: int, gap: int, width: int) -> None:
    """Shortens the model's part, so that the one behind it fits: the approval mode is always said."""
    over = sum(part.cell_length + gap for part in parts[: model + 2]) - gap - width
    if over > 0:
        left = parts[model].cell_length - over
        parts[model : model + 1] = [parts[model].truncate(left, ellipsis=True)] if left >= LEAST_NAME else []


class StatusBar(Widget):
    """Paints `status`; set it as often as you like, an equal one costs nothing. None: nothing is known yet."""

    DEFAULT_CSS = """
    StatusBar { height: 1; padding: 0 1; background: $panel; color: $foreground; text-wrap: nowrap; }
    """

    status: reactive[Status | None] = reactive(None)

    class Clicked(Message):
        """A part was clicked: the name of the command that changes it, or "mode"."""

        def __init__(self, part: str) -> None:
            super().__init__()
            self.part = part

    def on_click(self, event: events.Click) -> None:
        """What can be changed is a click away."""
        part = event.style.meta.get(PART)
        if isinstance(part, str):
            self.post_message(self.Clicked(part))

    def render(self) -> Content:
        """The parts that fit."""
        status, width = self.status, self.content_size.width
        parts = [NAME] if status is None else pieces(status)
        gap = 3 if sum(part.cell_length + 3 for part in parts) - 3 <= width else 2
        if status is not None:
            _give_way(parts, 2 if status.storage else 1, gap, width)
        line = parts[0]
        for part in parts[1:]:
            if line.cell_length + gap + part.cell_length > width:
                break
            line += Content(" " * gap) + part
        return line
