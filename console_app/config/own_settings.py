"""The settings as a front end shows and changes them: read anew each time, written into the user's own file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from console_app.config.layers import LayeredSettings
from console_app.config.paths import read_text
from console_app.config.setting_list import Setting, setting_list
from console_app.config.settings import Settings
from console_app.config.toml_text import parse_toml
from console_app.config.written_settings import remove_setting, replace_file, write_setting

NEXT_START = "It holds from the next start on."


class OwnSettings:
    """`load` reads all layers anew; `apply` has a changed setting hold now and says whether it could. Both, and what
    reads or writes here, may take a while: files."""

    def __init__(self, path: Path, load: Callable[[], LayeredSettings], apply: Callable[[str, Settings], bool]) -> None:
        self.path = path
        self._load = load
        self._apply = apply

    def read(self) -> Sequence[Setting]:
        """All settings. Raises ConfigError where a file is wrong."""
        return setting_list(self._load())

    def write(self, name: str, text: str) -> None:
        """Writes a setting. Raises UsageError for what can't be, ConfigError for a file that can't be changed."""
        write_setting(self.path.resolve(), name, text)  # a link stays one

    def remove(self, name: str) -> bool:
        """Takes a setting out of the file; False when it isn't there."""
        return remove_setting(self.path.resolve(), name)

    def take_effect(self, name: str) -> str:
        """Has a changed setting hold: "" where it does from now on, else when it will, or what outranks it."""
        layered = self._load()
        source = layered.sources.get(name, "default")
        if source not in ("default", str(self.path)):
            return f"Your file is changed, but {source} outranks it."
        return "" if self._apply(name, layered.settings) else NEXT_START

    def text(self) -> str:
        """The file as it is written, "" where there is none."""
        return read_text(self.path) if self.path.exists() else ""

    def replace(self, text: str) -> None:
        """Another text in place of the file's. Raises ConfigError, and then the file is as it was."""
        before, file = self.text(), self.path.resolve()
        parse_toml(text, self.path)
        replace_file(file, text)
        try:
            self._load()
        except BaseException:
            replace_file(file, before)
            raise
