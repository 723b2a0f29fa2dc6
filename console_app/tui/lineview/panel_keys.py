"""The keys of the conversation and its panels, by the ids under which config.toml can change them."""

from __future__ import annotations

from textual.binding import Binding, BindingType

KEYS: list[BindingType] = [
    Binding("enter", "menu", "menu", tooltip="what can be done with a call", id="panel.menu"),
    Binding("o,space,enter", "toggle_block('open')", "open", id="panel.toggle"),
    Binding("o,space,enter", "toggle_block('close')", "close", id="panel.toggle"),
    Binding("x", "call('cancel')", "stop", id="panel.cancel"),
    Binding("r", "call('retry')", "run again", id="panel.retry"),
    Binding(
        "R", "call('retry_all')", "run all that was cut off", tooltip="run what was cut off again", id="panel.retry_all"
    ),
    Binding("e", "call('edit')", "change and run", id="panel.edit"),
    Binding("n", "screen.find_step(1)", "next match", id="find.next"),
    Binding("N", "screen.find_step(-1)", "previous match", id="find.previous"),
    Binding("m", "result('more')", "more", id="panel.more"),
    Binding("v", "result('raw')", "raw", tooltip="a result as it came", id="panel.raw"),
    Binding("v", "result('rendered')", "rendered", tooltip="a result as what it is", id="panel.raw"),
    Binding("c", "copy", "copy", id="panel.copy"),
    Binding(
        "C", "screen.copy_part", "copy part", tooltip="copy a part: code, a table, arguments", id="panel.copy_part"
    ),
    Binding("i", "call('inspect')", "look inside", id="panel.inspect"),
    Binding("plus", "call('extend')", "more time", id="panel.extend"),
    Binding("b", "call('background')", "to the background", id="panel.background"),
    Binding("s", "call('send')", "send partial results", id="panel.send"),
    Binding("f", "files", "files", tooltip="open a file or a link of a result", id="panel.files"),
    Binding("t", "filter", "filter", tooltip="filter by state: one, the next, then all", id="panel.filter"),
    Binding("exclamation_mark", "failed", "next failed", tooltip="select the next failed call", id="panel.failed"),
    Binding(
        "right", "result('unfold')", "unfold", tooltip="open a result's tree one level", id="panel.unfold", show=False
    ),
    Binding("left", "result('fold')", "fold", tooltip="fold a result's tree one level", id="panel.fold", show=False),
    Binding("question_mark", "screen.command('help')", "help", id="panel.help", show=False),
    Binding("escape", "leave", "back", tooltip="back to the prompt", id="panel.leave"),
    Binding("alt+up,k", "cursor(-1)", "previous panel or message", id="panel.previous", show=False),
    Binding("alt+down,j", "cursor(1)", "next panel or message", id="panel.next", show=False),
    Binding("up", "walk(-1)", "call above, or line up", id="conversation.up", show=False),
    Binding(
        "down", "walk(1)", "call below, or line down; from the last to the prompt", id="conversation.down", show=False
    ),
    Binding("pageup", "page(-1)", "page up", id="conversation.page_up", show=False),
    Binding("pagedown", "page(1)", "page down", id="conversation.page_down", show=False),
    Binding("home", "scroll_home", "first line", id="conversation.home", show=False),
    Binding("end", "scroll_end", "last line", id="conversation.end", show=False),
]
