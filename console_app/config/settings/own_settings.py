"""The settings as a front end shows and changes them: read anew each time, written into the user's own file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from console_app.config.files.disk import read_text
from console_app.config.files.toml_text import parse_toml
from console_app.config.settings.layers import LayeredSettings
from console_app.config.settings.model import Settings
from console_app.config.settings.setting_list import Setting, setting_list
from console_app.config.settings.settings_file import BrokenSettings, settings_file
from console_app.config.settings.written_settings import remove_setting, replace_file, write_setting
from console_app.domain.errors import ConfigError

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
        """Has a changed setting hold: "" where it does from now on, else when it will, what outranks it, or what is
        wrong beside it."""
        try:
            layered = self._load()
        except ConfigError as error:
            return f"It can't hold before this is mended: {error.detail}"
        source = layered.sources.get(name, "default")
        if source not in ("default", str(self.path)):
            return f"Your file is changed, but {source} outranks it."
        return "" if self._apply(name, layered.settings) else NEXT_START

    def to_edit(self) -> Path:
        """The file that is broken, which may be the project's; else the user's own."""
        return error.path if (error := self._broken()) is not None else self.path

    def text(self, path: Path) -> str:
        """A file as it is written, "" where there is none. Raises ConfigError where it can't be read."""
        return read_text(path) if path.exists() else ""

    def replace(self, path: Path, text: str) -> str:
        """Another text in place of the file's, and what is wrong still where a file was broken before, else "". Raises
        ConfigError for a text that would break it, and then the file is as it was."""
        was_broken, before = self._broken(), self.text(path)
        file = path.resolve() if path == self.path else path  # your own link stays one
        if was_broken is None:
            with settings_file(path):
                parse_toml(text, path)
        replace_file(file, text)
        try:
            self._load()
        except ConfigError as error:
            if was_broken is not None:
                return error.detail
            replace_file(file, before)
            raise
        return ""

    def _broken(self) -> BrokenSettings | None:
        try:
            self._load()
        except BrokenSettings as error:
            return error
        except ConfigError:
            pass  # a flag or a variable, which no file mends
        return None
