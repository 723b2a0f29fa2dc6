"""A type that a style sheet or a focus rule names is a class that there is: a name that went leaves no error behind."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import textual.widgets
from textual.screen import Screen
from textual.widget import Widget

import console_app.tui

TYPE = re.compile(r"(?<![\w.#:$-])[A-Z]\w+")
ROOT = Path(console_app.tui.__file__).parent


def widgets(top: type[Widget] = Widget) -> Iterator[type[Widget]]:
    """Every widget class that was imported."""
    for widget in top.__subclasses__():
        yield widget
        yield from widgets(widget)


def selectors(sheet: str) -> str:
    """A style sheet without comments and declarations."""
    return re.sub(r"/\*.*?\*/|[\w-]+:\s[^;{}]*;", "", sheet, flags=re.DOTALL)


def test_a_selector_names_a_class_that_there_is_and_a_screen_a_sheet() -> None:
    for module in pkgutil.walk_packages([str(ROOT)], "console_app.tui."):
        importlib.import_module(module.name)
    for name in textual.widgets.__all__:
        getattr(textual.widgets, name, None)  # they are imported when they are asked for
    named = {str(path): selectors(path.read_text()) for path in ROOT.rglob("*.tcss")}
    for widget in widgets():
        if not widget.__module__.startswith("console_app."):
            continue
        named[f"{widget.__name__}.DEFAULT_CSS"] = selectors(widget.DEFAULT_CSS)
        if issubclass(widget, Screen):
            named[f"{widget.__name__}.AUTO_FOCUS"] = widget.AUTO_FOCUS or ""
            paths = widget.CSS_PATH if isinstance(widget.CSS_PATH, list) else [widget.CSS_PATH or ()]
            folder = Path(inspect.getfile(widget)).parent
            assert all((folder / path).is_file() for path in paths if path), widget
    known = {widget.__name__ for widget in widgets()} | {"Widget", "Screen"}
    assert {place: gone for place, text in named.items() if (gone := set(TYPE.findall(text)) - known)} == {}
