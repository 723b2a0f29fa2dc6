"""The app as screens and widgets see it: for the type checker, `app` of a widget has an unknown result otherwise."""

from __future__ import annotations

from textual.app import App


def typed_app() -> type[App[int]]:
    return App
