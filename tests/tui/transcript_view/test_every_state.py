"""Every reader of a call's state or outcome knows all of them: a new one that is forgotten fails here."""

from __future__ import annotations

from dataclasses import replace

import pytest

from console_app.domain.tools import CallState, Outcome
from console_app.domain.transcript_parts import CallView
from console_app.tui.transcript_view.call_lane import lane, state_style
from console_app.tui.transcript_view.wording import COUNTED, counted_as, state_of
from tests.tui.transcript_view.scenes import PALETTE

CALL = CallView("a", 0, "demo_do", "demo", "do", "native", 1.0)


@pytest.mark.parametrize("call", [replace(CALL, state=state) for state in CallState if state != CallState.FINISHED])
def test_every_state_has_a_glyph_a_word_a_colour_and_is_counted(call: CallView) -> None:
    glyph, word = state_of(call, 0.0)
    assert glyph
    assert word != "ended"
    assert counted_as(call) in COUNTED
    assert state_style(call, PALETTE)
    assert sum(len(text) for text, _ in lane(call, 20, (1.0, 2.0), 1.5, PALETTE)) == 20


@pytest.mark.parametrize("outcome", Outcome)
def test_every_outcome_has_a_glyph_a_word_a_colour_and_is_counted(outcome: Outcome) -> None:
    call = replace(CALL, state=CallState.FINISHED, outcome=outcome, finished_at=2.0)
    assert state_of(call, 0.0)[0]
    assert counted_as(call) in COUNTED
    assert state_style(call, PALETTE)
