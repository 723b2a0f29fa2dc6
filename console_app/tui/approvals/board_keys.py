"""The keys of the approval board, by the ids under which config.toml can change them."""

from __future__ import annotations

from textual.binding import Binding, BindingType

KEYS: list[BindingType] = [
    Binding("y", "press('once')", "allow once", id="board.once", show=False),
    Binding("a", "press('session')", "allow for session", id="board.session", show=False),
    Binding("A", "press('always')", "always allow: shows the rule first", id="board.always", show=False),
    Binding("n", "press('deny')", "deny", id="board.deny", show=False),
    Binding("f", "press('words')", "deny with a comment", id="board.say_why", show=False),
    Binding("c", "press('comment')", "say something to the model", id="board.comment", show=False),
    Binding("e", "press('edit')", "edit the arguments", id="board.edit", show=False),
    Binding("Y", "press('all')", "allow all", id="board.all", show=False),
    Binding("R", "press('reads')", "allow all that only read", id="board.reads", show=False),
    Binding("N", "press('none')", "deny all", id="board.none", show=False),
    Binding("enter", "confirm", "confirm the rule", id="board.confirm", show=False),
    Binding("j,down,tab", "move(1)", "next", id="board.next", show=False),
    Binding("k,up,shift+tab", "move(-1)", "previous", id="board.previous", show=False),
    *(Binding(str(n), f"go({n})", f"row {n}", id=f"board.row{n}", show=False) for n in range(1, 10)),
    Binding("0", "go(0)", "row 10: digits in a row make a number", id="board.row0", show=False),
    Binding("pagedown,space", "scroll_arguments(1)", "more of the arguments", id="board.more", show=False),
    Binding("pageup", "scroll_arguments(-1)", "back in the arguments", id="board.back", show=False),
    Binding("escape", "leave", "decide later", id="board.later", show=False),
]
