"""Show at the top which model answers, how calls are approved, how full its context is, and what it costs.

Usual settings are not named. Parts that don't fit go by importance: model, approval mode and context go last.
"""

from __future__ import annotations

from collections.abc import Collection

from textual import events
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.style import Style
from textual.widget import Widget

from console_app.domain import ApprovalMode, amounts, one_line, plural
from console_app.records import dataclass

BAR_CELLS = 10
NAME = Content.styled("fanout", "bold $primary")
LEAST_NAME = 6  # cells of a model's name that are worth showing
USUAL_STRATEGY, USUAL_POLICY = "agentic", "parallel"
USUAL_PROTOCOLS = ("native", "offline")
PART = "status part"  # in the style of what can be clicked
NAME_CELLS = 28  # of a model's or provider's name
WHOLE_CELLS = 60  # of a provider's name and address where nothing else needs the room

_MODE_INKS = {
    ApprovalMode.ASK: "$muted",
    ApprovalMode.AUTO: "$accent",
    ApprovalMode.PLAN: "bold $accent",
    ApprovalMode.YOLO: "bold $error",
}


@dataclass(frozen=True, slots=True)
class Status:
    """Holds everything that the bar says; `context_window` and `cost` are None where they are unknown."""

    model: str = ""
    provider: str = ""
    strategy: str = "agentic"
    effort: str = ""  # how much the model thinks first, where that is said
    policy: str = "parallel"
    mode: ApprovalMode | None = ApprovalMode.ASK  # None: of a replay, in which nothing runs
    servers_ready: int = 0
    servers_starting: int = 0
    servers_failed: int = 0
    tools: int = 0
    protocol: str = "native"
    context: int = 0
    context_window: int | None = None
    cost: float | None = None
    storage: str = ""  # why this session is not being written, in a few words


# The parts that go where room is short, in this order: the provider's whole address, strategy and policy, the words
# `servers` and `context`, and so on.
NARROWER = ("address", "how", "words", "provider", "protocol", "cost", "servers", "bar", "name")


def pieces(status: Status, gone: Collection[str] = ()) -> list[Content]:
    parts = [] if "name" in gone else [NAME]
    if status.storage:
        parts.append(Content.styled(f"! {status.storage}", "bold $warning"))
    cells = 0 if "provider" in gone else NAME_CELLS if "address" in gone else WHOLE_CELLS
    parts.append(_model(status, cells))
    if status.mode is not None:
        parts.append(_part(_line((status.mode.value, _MODE_INKS[status.mode])), "mode"))
    how = [_line((status.strategy, "$foreground"))] if status.strategy != USUAL_STRATEGY else []
    how += [_part(_line((status.policy, "$foreground")), "policy")] if status.policy != USUAL_POLICY else []
    if how and "how" not in gone:
        parts.append(Content.styled(" · ", "$muted").join(how))
    if "servers" not in gone:
        parts.append(_part(_servers(status, words="words" not in gone), "mcp"))
    if status.protocol not in USUAL_PROTOCOLS and "protocol" not in gone:
        parts.append(Content.styled(status.protocol, "$warning"))
    if status.context or status.context_window:
        parts.append(_part(_context(status, words="words" not in gone, bar="bar" not in gone), "context"))
    if status.cost is not None and "cost" not in gone:
        parts.append(Content.styled(f"${status.cost:.3f}" if status.cost < 10 else f"${status.cost:.2f}", "$muted"))
    return parts


def fitting(status: Status, width: int, gap: int) -> list[Content]:
    parts = pieces(status)
    for count in range(1, len(NARROWER) + 1):
        if _taken(parts, gap) <= width:
            break
        parts = pieces(status, NARROWER[:count])
    return parts


def _taken(parts: list[Content], gap: int) -> int:
    return sum(part.cell_length + gap for part in parts) - gap


def _part(content: Content, name: str) -> Content:
    """Make a part one that can be clicked: `name` is a command, or the mode."""
    return content.stylize(Style.from_meta({PART: name}))


def _model(status: Status, cells: int) -> Content:
    name, host = one_line(status.model, NAME_CELLS), one_line(status.provider, cells) if cells else ""
    model = _line((name, "$foreground"), *(((f" · {host}", "$muted"),) if host else ()))
    model = _part(model, "model")
    if not status.effort:
        return model
    return model + _line((" · ", "$muted")) + _part(_line((f"effort {status.effort}", "$muted")), "effort")


def _line(*parts: tuple[str, str]) -> Content:
    return Content("").join([Content.styled(text, style) for text, style in parts])


def _servers(status: Status, *, words: bool = True) -> Content:
    """Count servers and tools. Without `words` only the count that matters: servers not there yet, else the tools."""
    ready, starting, failed = status.servers_ready, status.servers_starting, status.servers_failed
    known = ready + starting + failed
    if failed:
        dot, count = ("✗", "$error"), f"{ready}/{known}"
    elif starting:
        dot, count = ("◌", "$warning"), f"{ready}/{known}"
    else:
        dot, count = ("●", "$success") if ready else ("○", "$muted"), str(ready)
    servers, tools = f"{count} server{'' if known == 1 else 's'}", plural(status.tools, "tool")
    said = f"{servers} · {tools}" if words else servers if failed or starting else tools
    return _line(dot, (f" {said}", "$muted"))


def _context(status: Status, *, words: bool = True, bar: bool = True) -> Content:
    window = status.context_window
    # Without a limit the number alone would read as what was spent, which other lines say in tokens.
    name = (("context ", "$foreground"),) if words or not window else ()
    used = amounts.tokens(status.context)
    if not window:
        return _line(*name, (used, "$muted"))
    share = min(status.context / window, 1.0)
    filled = min(BAR_CELLS, round(share * BAR_CELLS) or (1 if status.context else 0))
    colour = "$error" if share > 0.9 else "$warning" if share > 0.75 else "$secondary"
    drawn = (("▰" * filled, colour), ("▱" * (BAR_CELLS - filled), "$muted"), (" ", "$muted")) if bar else ()
    return _line(
        *name,
        *drawn,
        (used + (" of " if words else "/") + amounts.tokens(window), "$muted" if share <= 0.75 else colour),
    )


class StatusBar(Widget):
    """Paints `status`; set it as often as you like, an equal one costs nothing. None: nothing is known yet."""

    DEFAULT_CSS = """
    StatusBar { height: 1; padding: 0 1; background: $panel; color: $foreground; text-wrap: nowrap; }
    """

    status: reactive[Status | None] = reactive(None)

    @dataclass
    class Clicked(Message):
        """A part was clicked: the name of the command that changes it, or "mode"."""

        part: str

    def on_click(self, event: events.Click) -> None:
        part = event.style.meta.get(PART)
        if isinstance(part, str):
            self.post_message(self.Clicked(part))

    def render(self) -> Content:
        status, width = self.status, self.content_size.width
        if status is None:
            return NAME
        gap = 3 if _taken(pieces(status), 3) <= width else 2
        parts = fitting(status, width, gap)
        over = _taken(parts, gap) - width
        if over > 0:  # a model of a long name gives way to the mode
            model = int(bool(status.storage))
            parts[model] = parts[model].truncate(max(parts[model].cell_length - over, LEAST_NAME), ellipsis=True)
        *before, last = parts
        line = Content(" " * gap).join(before)
        priced = status.cost is not None and last.plain.startswith("$")
        room = width - line.cell_length - last.cell_length if priced else gap
        return line + Content(" " * max(room, gap if before else 0)) + last
