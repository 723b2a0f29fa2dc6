"""A run without a terminal: one turn driven to its end, what it prints, and what ends it from outside."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console_app.headless.interrupts import Exit as Exit
    from console_app.headless.interrupts import Interrupts as Interrupts
    from console_app.headless.output import OutputStreams as OutputStreams
    from console_app.headless.run import RunEnding as RunEnding
    from console_app.headless.run import run_turn as run_turn
    from console_app.headless.writers import Output as Output
    from console_app.headless.writers import RunReport as RunReport
    from console_app.headless.writers import call_line as call_line
else:
    from console_app.door import door

    __getattr__ = door(__name__, __file__)
