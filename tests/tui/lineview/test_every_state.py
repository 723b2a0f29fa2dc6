"""Every reader of a call's state or outcome knows all of them: a new one that is forgotten fails here."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import console_app
from console_app.console.pending import Pending
from console_app.domain.tools import CallState, Outcome, Risk
from console_app.domain.transcript import CallView
from console_app.tui.asking.approval_board import keys
from console_app.tui.asking.selection import ApprovalSelection
from console_app.tui.lineview import state_style
from console_app.tui.lineview.wording import COUNTED, state_of
from tests.each import each
from tests.tui.lineview.scenes import PALETTE

CALL = CallView("a", 0, "demo_do", "demo", "do", "native", 1.0)


@each("call", [replace(CALL, state=state) for state in CallState if state != CallState.FINISHED])
def test_every_state_has_a_glyph_a_word_a_colour_and_is_counted(call: CallView) -> None:
    glyph, word = state_of(call, 0.0)
    assert glyph
    assert word != "ended"
    assert state_of(call)[1] in COUNTED
    assert state_style(call, PALETTE)


@each("outcome", Outcome)
def test_every_outcome_has_a_glyph_a_word_a_colour_and_is_counted(outcome: Outcome) -> None:
    call = replace(CALL, state=CallState.FINISHED, outcome=outcome, finished_at=2.0)
    assert state_of(call, 0.0)[0]
    assert state_of(call)[1] in COUNTED
    assert state_style(call, PALETTE)


# The one list: what a state, an outcome and a decision are called, wherever they are named.
STATE_WORDS = {
    CallState.ANNOUNCED: "preparing",
    CallState.WAITING: "needs approval",
    CallState.QUEUED: "queued",
    CallState.RUNNING: "running",
}
OUTCOME_WORDS = {
    Outcome.SUCCEEDED: "ok",
    Outcome.FAILED: "failed",
    Outcome.TIMED_OUT: "timed out",
    Outcome.CANCELLED: "stopped",
    Outcome.DENIED: "denied",
    Outcome.BLOCKED: "blocked",
    Outcome.SKIPPED: "skipped",
    Outcome.INVALID: "invalid",
    Outcome.INTERRUPTED: "interrupted",
}
DECISION_KEYS = ("y run it", "a and demo.do for this session", "n no", "f no, and say why", "e change it")
OLD_WORDS = (
    "waits for you", "no rule allows it", "no news yet", "says it only reads", "enter chooses", "esc leaves",
    "takes back", "steers", "brings you here", "saved against", "space for more", "fits the tool", "send what there is",
    "add for good", "Come back in", "nobody is there to give", "Log of everything", "go on with an older session",
    "asking what there is", "wants a key (4", "at most so many", "It works by rules",
)  # fmt: skip

YOURS = "result changed by you"


def test_states_outcomes_and_decisions_have_one_word_each() -> None:
    for state, word in STATE_WORDS.items():
        assert state_of(replace(CALL, state=state), 0.0)[1] == word
    for outcome, word in OUTCOME_WORDS.items():
        assert state_of(replace(CALL, state=CallState.FINISHED, outcome=outcome), 0.0)[1] == word
    assert state_of(replace(CALL, state=CallState.RUNNING, asked=["Who?"]), 0.0)[1] == "needs input"
    assert state_of(replace(CALL, state=CallState.FINISHED, outcome=Outcome.FAILED, by_user=True), 0.0)[1] == YOURS
    assert set(COUNTED) == {*STATE_WORDS.values(), *OUTCOME_WORDS.values(), "said no", "needs input", YOURS}
    selection = ApprovalSelection()
    selection.show([Pending(replace(CALL, id=id), risk=Risk("reads", "its server"), rules=("demo.do",)) for id in "ab"])
    shown = " ".join(line.plain for line in keys(selection, 200))
    assert [word for word in DECISION_KEYS if word not in " ".join(shown.split())] == []


def test_words_that_were_given_up_are_said_nowhere() -> None:
    folder, old = Path(console_app.__file__).parent, re.compile(rf"(?:{'|'.join(map(re.escape, OLD_WORDS))})(?!\w)")
    said = [
        (path.relative_to(folder).as_posix(), text.value)
        for path in folder.rglob("*.py")
        if old.search(_joined(source := path.read_text(encoding="utf-8")))  # few are read as Python, which takes long
        for text in _texts(ast.parse(source))
        if old.search(str(text.value))
    ]
    assert said == []


def _joined(source: str) -> str:
    """The words of texts that stand in several parts, too."""
    return re.sub(r"""["']\s+[rf]*["']""", "", source)


def _texts(tree: ast.AST) -> Iterator[ast.Constant]:
    """The strings of a module that the program uses: a docstring, of an attribute too, stands by itself."""
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node
