"""The state of a conversation, folded from events: turns, steps, calls, and what came of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console_app.domain.transcript.fold import Transcript as Transcript
    from console_app.domain.transcript.results import REMARKS as REMARKS
    from console_app.domain.transcript.results import ToModel as ToModel
    from console_app.domain.transcript.results import own_error as own_error
    from console_app.domain.transcript.results import pictures_in_words as pictures_in_words
    from console_app.domain.transcript.results import shown_text as shown_text
    from console_app.domain.transcript.results import without_remarks as without_remarks
    from console_app.domain.transcript.verdicts import COMMANDS as COMMANDS
    from console_app.domain.transcript.verdicts import Verdict as Verdict
    from console_app.domain.transcript.verdicts import VerdictWord as VerdictWord
    from console_app.domain.transcript.verdicts import exit_code as exit_code
    from console_app.domain.transcript.verdicts import exit_line as exit_line
    from console_app.domain.transcript.views import GO_ON as GO_ON
    from console_app.domain.transcript.views import MANUAL as MANUAL
    from console_app.domain.transcript.views import MOST_LIMITS as MOST_LIMITS
    from console_app.domain.transcript.views import BatchView as BatchView
    from console_app.domain.transcript.views import CallView as CallView
    from console_app.domain.transcript.views import LogLine as LogLine
    from console_app.domain.transcript.views import StepView as StepView
    from console_app.domain.transcript.views import TurnView as TurnView
    from console_app.domain.transcript.views import ends_at as ends_at
else:
    from console_app.door import door

    __getattr__ = door(
        __name__,
        {
            "fold": "Transcript",
            "results": "REMARKS ToModel own_error pictures_in_words shown_text without_remarks",
            "verdicts": "COMMANDS Verdict VerdictWord exit_code exit_line",
            "views": "BatchView CallView GO_ON LogLine MANUAL MOST_LIMITS StepView TurnView ends_at",
        },
    )
