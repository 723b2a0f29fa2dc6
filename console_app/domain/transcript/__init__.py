"""The state of a conversation, folded from events: turns, steps, calls, and what came of each."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console_app.domain.transcript.fold import Transcript as Transcript
    from console_app.domain.transcript.results import ToModel as ToModel
    from console_app.domain.transcript.views import GO_ON as GO_ON
    from console_app.domain.transcript.views import BatchView as BatchView
    from console_app.domain.transcript.views import CallView as CallView
    from console_app.domain.transcript.views import LogLine as LogLine
    from console_app.domain.transcript.views import StepView as StepView
    from console_app.domain.transcript.views import TurnView as TurnView
else:
    from console_app.door import door

    __getattr__ = door(__name__, __file__)
