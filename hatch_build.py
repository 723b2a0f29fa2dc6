"""Puts manual pages and completion scripts into the wheel, where a system looks for them; made anew for each build."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

COMPLETIONS = {
    "bash": "share/bash-completion/completions/fanout",
    "zsh": "share/zsh/site-functions/_fanout",
    "fish": "share/fish/vendor_completions.d/fanout.fish",
}


class ShellFiles(BuildHookInterface):
    """hatchling's hook; what it imports of the project needs the standard library alone."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Writes the files and has them packed; an editable install is a wheel too."""
        sys.path.insert(0, self.root)
        try:
            from console_app.command_line import SCRIPTS
            from console_app.command_line.help_text import pages
        finally:
            sys.path.remove(self.root)
        self._folder = Path(tempfile.mkdtemp(prefix="fanout-build-"))
        files = {f"share/man/man1/{name}": text for name, text in pages().items()}
        files |= {COMPLETIONS[shell]: script for shell, script in SCRIPTS.items()}
        for target, text in files.items():
            source = self._folder / target
            source.parent.mkdir(parents=True, exist_ok=True)
            source.write_text(text, encoding="utf-8")
            build_data["shared_data"][str(source)] = target

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """They are packed."""
        shutil.rmtree(self._folder)
