"""Show one prompt of a server: what it is for and takes, how it went lately, and what it makes, once it was run."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import ClassVar

from rich.style import Style
from textual.binding import Binding, BindingType

from console_app.domain import FanoutError, amounts, one_line, plural
from console_app.mcp_client import Hub, PromptArgument, PromptMessage, ServerPrompt
from console_app.mcp_client.offering import typed_names
from console_app.tui.asking.form_dialogs import ValuesForm
from console_app.tui.lineview import ResultBody, brief_arguments
from console_app.tui.lineview.lines import Line, Piece
from console_app.tui.lineview.palette import Palette
from console_app.tui.servers.folding_tree import FoldingTree, Node
from console_app.tui.servers.tree_dialog import OfferUse, TreeDialog, described, section, uses_in_brief, uses_of

MOST_USES = 50  # of the newest that are listed
MOST_LINES = 2_000  # of a message that is shown


class PromptScreen(TreeDialog[str]):
    """Gives its command as it is typed, filled in as it was run last, when it is to go into the prompt."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,r", "run", "run", tooltip="fill it in and run it", id="offer.run"),
        Binding("a", "attach", "use", tooltip="put its command into the prompt", id="offer.use"),
        Binding("c", "copy", "copy", tooltip="copy what it made", id="offer.copy"),
        Binding("escape,q", "dismiss(None)", "back", id="offer.back"),
    ]

    def __init__(self, hub: Hub, typed: str, prompt: ServerPrompt) -> None:
        super().__init__(prompt.server, prompt.name)
        self._hub = hub
        self._typed = typed
        self._prompt = prompt
        self._values: Mapping[str, str] = {}
        self._made: Sequence[PromptMessage] = ()
        self._problem = ""
        self._is_asked = False
        self._result: Sequence[Node] = ()
        self._about = _about(prompt)
        self._seen: object = None

    def look(self) -> None:
        traffic = self._hub.traffic(self._prompt.server)
        if (seen := (traffic.revision, self._is_asked, id(self._result))) == self._seen:
            return
        self._seen = seen
        uses = uses_of(traffic, "prompts/get", self._prompt.name)
        newest = uses[: -MOST_USES - 1 : -1]
        words = uses_in_brief(uses) if uses else "none since it was connected; enter runs it"
        last = section("Last uses", words, (lambda: [_use(use) for use in newest]) if newest else None, "uses")
        self.query_one(FoldingTree).show([*self._about, *self._result, last])
        self.refresh_bindings()

    def action_run(self) -> None:
        if not self._is_asked:
            self.run_worker(self._ask, exclusive=True)

    async def _ask(self) -> None:
        prompt = self._prompt
        if prompt.arguments:
            propose = partial(self._hub.complete, prompt)
            form = ValuesForm(f"/{self._typed}", prompt.description, prompt.arguments, self._values, propose)
            values = await self.app.push_screen_wait(form)
            if values is None:
                return
            self._values = values
        self._is_asked = True
        self._result = [_line("asking its server …", lambda palette: palette.secondary)]
        self.look()
        try:
            self._made, self._problem = await self._hub.get_prompt(prompt, self._values), ""
            characters = sum(len(one.text) + sum(len(part.text) for part in one.contents) for one in self._made)
            tokens = plural(max(characters // amounts.CHARACTERS_A_TOKEN, 1), "token")
            words = f"~{tokens} in {plural(len(self._made), 'message')}, once sent"
            nodes = [node for message in self._made for node in self._message(message)]
            self._result = [section("What it makes", words, lambda: nodes, "made")]
        except FanoutError as error:
            self._made, self._problem = (), error.line
            self._result = [_line(f"✗ {one_line(error.line, 400)}", lambda palette: palette.error)]
        self._is_asked = False
        self.look()

    def _message(self, message: PromptMessage) -> list[Node]:
        tree = self.query_one(FoldingTree)
        texts = [(message.role, message.text)] if message.text.strip() else []
        for part in message.contents:
            file = part.artifact
            what = f"{message.role}, embedded {one_line(part.uri or part.mime or 'content', 80)}"
            texts.append((what if file is None else f"{what} · {amounts.size(file.size)}", part.text))
        return [rendered(title, ResultBody.of(text), tree.size.width - 8, tree.palette) for title, text in texts]

    def action_attach(self) -> None:
        self.dismiss(f"/{self._typed} {typed_names.written_arguments(self._values)}".rstrip() + " ")

    def action_copy(self) -> None:
        texts = [text for one in self._made for text in (one.text, *(part.text for part in one.contents)) if text]
        self.app.copy_to_clipboard("\n\n".join(texts))
        self.notify("Copied.", markup=False, timeout=2)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return bool(self._made) if action == "copy" else True


def rendered(title: str, body: ResultBody, width: int, palette: Palette) -> Node:
    width, body.limit = max(width, 20), MOST_LINES
    count = len(body.rows(width, palette, palette.base)) if body.found.text.strip() else 0

    def row(at: int, ink: Palette) -> Sequence[Piece]:
        return body.rows(width, ink, ink.base)[at].pieces

    return Node(
        lambda ink: [(title, ink.secondary)],
        lambda: [Node(partial(row, at)) for at in range(count)],
        open=True,
        key=("text", title),
    )


def _about(prompt: ServerPrompt) -> list[Node]:
    needed = sum(one.required for one in prompt.arguments)
    words = f"{plural(len(prompt.arguments), 'argument')}, {needed} required" if prompt.arguments else "takes nothing"
    below = (lambda: [_argument(one) for one in prompt.arguments]) if prompt.arguments else None
    return [described(prompt.title, prompt.description), section("Arguments", words, below, "arguments")]


def _argument(one: PromptArgument) -> Node:
    name, about = one_line(one.name, 80), Line.clean(one.description).strip()
    return Node(
        lambda ink: [
            (name, ink.strong),
            (" required" if one.required else " optional", ink.warning if one.required else ink.muted),
            (f"  {about}" if about else "", ink.base),
        ],
        key=("argument", one.name),
    )


def _line(text: str, ink: Callable[[Palette], Style]) -> Node:
    return Node(lambda palette: [(text, ink(palette))], key="result")


def _use(use: OfferUse) -> Node:
    answer = use.answer
    failed = answer is not None and answer.kind == "error"
    word = "✗ failed" if failed else "✓ done" if answer is not None else "○ open"
    took = amounts.measured(answer.seconds) if answer is not None and answer.seconds is not None else ""
    said = amounts.size(answer.size) if answer is not None else ""
    if failed and answer is not None:
        said = one_line(str(answer.data["error"].get("message", "")), 200) or said

    def paint(palette: Palette) -> Sequence[Piece]:
        ink = palette.error if failed else palette.success if answer is not None else palette.muted
        return [
            (f"{time.strftime('%H:%M:%S', time.localtime(use.at))}  ", palette.muted),
            (f"{word:<9}", ink),
            (f"{took:>8}  ", palette.base),
            (brief_arguments(use.arguments, 60) or "no arguments", palette.base),
            (f"  {said}", palette.error if failed else palette.muted),
        ]

    return Node(paint, key=("use", use.at))
