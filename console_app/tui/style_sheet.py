"""The style sheet of an app, each of whose sources is parsed once a theme.

Textual parses all of them anew for each dialog that brings one (20 ms before it opens), and for each theme that is
looked at. What is parsed is only read, so that it can be kept for every app of the process.
"""

from __future__ import annotations

from functools import lru_cache

from textual.cache import LRUCache
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet

THEMES = 6
SOURCES = 256  # a theme: more than there are


class StyleSheet(Stylesheet):
    """Takes the place of `App.stylesheet`, before anything is read into it."""

    def __init__(self, *, variables: dict[str, str]) -> None:
        super().__init__(variables=variables)
        self._parse_cache = _parsed(frozenset(variables.items()))

    def set_variables(self, variables: dict[str, str]) -> None:
        self._parse_cache = LRUCache(1)  # this one is emptied
        super().set_variables(variables)
        self._parse_cache = _parsed(frozenset(variables.items()))

    def reparse(self) -> None:
        """Parse without the sheet of its own that Textual makes: `parse` changes nothing either when it fails."""
        self.parse()


@lru_cache(THEMES)
def _parsed(_variables: frozenset[tuple[str, str]]) -> LRUCache[tuple[object, ...], list[RuleSet]]:
    """Return the rules that were parsed with these variables, as a cache for all apps."""
    return LRUCache(SOURCES)
