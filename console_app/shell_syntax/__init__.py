"""Commands of a shell, judged by their parsed tree for rules: what one word after the other is said, or nothing.

A command that is not wholly understood is allowed by no rule and denied by each that might mean it.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console_app.shell_syntax.matching import allows as allows
    from console_app.shell_syntax.matching import beginning as beginning
    from console_app.shell_syntax.matching import hides as hides
    from console_app.shell_syntax.matching import mentions as mentions
    from console_app.shell_syntax.reading_commands import only_reads as only_reads
    from console_app.shell_syntax.words import plain_words as plain_words
else:
    from console_app.door import door

    __getattr__ = door(__name__, __file__)
