"""Loads what an answer is read with, which no request waits for: in a thread, while the model is waited for."""

from __future__ import annotations

from importlib import import_module

from console_app.textcalls import prepare


def load_reading() -> None:
    """Import what reads an answer's text for calls and compile its patterns, 0.2 s in all."""
    import_module("console_app.providers.text_protocol.reading")
    prepare()
