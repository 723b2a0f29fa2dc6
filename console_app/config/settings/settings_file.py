"""A settings file that can't be used as it is: which one, and what mends it."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from console_app.config.files.paths import PROJECT_FOLDER
from console_app.domain.errors import ConfigError


class BrokenSettings(ConfigError):
    """What is wrong in the settings file `path`."""

    def __init__(self, detail: str, hint: str, path: Path) -> None:
        super().__init__(detail, hint)
        self.path = path


@contextmanager
def settings_file(path: Path) -> Generator[None]:
    """What is wrong with the file here is told with how to open it."""
    try:
        yield
    except ConfigError as error:
        option = " --project" if path.parent.name == PROJECT_FOLDER else ""
        opens = f"`fanout config edit{option}` opens it."
        raise BrokenSettings(error.detail, f"{error.hint} {opens}".lstrip(), path) from None
