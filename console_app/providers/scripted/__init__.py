"""A model that plays a script file: demos, tests and benchmarks use it in place of an endpoint."""

from __future__ import annotations

from console_app.providers.scripted.format import Script
from console_app.providers.scripted.provider import ScriptedProvider
from console_app.providers.scripted.reader import parse_script, read_script

__all__ = ["Script", "ScriptedProvider", "parse_script", "read_script"]
