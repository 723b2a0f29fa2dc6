"""Use beforehand, on a thread, the parts that cost most when a conversation first needs them."""

from __future__ import annotations

from collections.abc import Callable

from console_app.tui.lineview.markdown.code import find_lexer
from console_app.tui.lineview.markdown.units import parser
from console_app.tui.lineview.results.kind import language_of_file
from console_app.tui.lineview.results.source import language_of_text

LANGUAGES = ("python", "bash", "json", "diff", "javascript", "typescript", "html", "yaml", "toml", "sql", "markdown")


def use_first(is_stopped: Callable[[], bool]) -> None:
    parser()
    for language in LANGUAGES:
        if is_stopped():
            return
        find_lexer(language)
    if not is_stopped():
        language_of_file("a.txt")  # the first name of a file costs 50 ms: a thousand patterns
        language_of_text("a\nb")  # and the first text 20
