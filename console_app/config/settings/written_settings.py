"""Writes and removes settings in a config.toml and leaves everything else in it, comments and order, as it is."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from console_app.config.files.disk import read_text, write_private
from console_app.config.files.toml_text import parse_toml
from console_app.config.settings.model import Settings
from console_app.config.settings.problem_words import in_words
from console_app.config.settings.setting_list import shape_of
from console_app.config.settings.settings_file import settings_file
from console_app.domain.errors import ConfigError, UsageError
from console_app.domain.safe_text import one_line

_YES = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
_ONE_KEY = {"keys", "limits", "injected", "extra_body"}  # tables whose names may hold dots
_NUMBERS = ("context_window", "max_tokens", "temperature")  # of a provider's table


def parts_of(name: str) -> tuple[str, ...]:
    """The parts of a setting's name, as in `max_steps`, `limits.files` or `providers.local.base_url`. Raises UsageError
    for one that doesn't exist."""
    first, _, rest = name.partition(".")
    if first not in Settings.model_fields:
        import difflib  # only needed to word an error

        close = difflib.get_close_matches(first.lower(), Settings.model_fields, 1, 0.5)
        hint = f"Did you mean {close[0]}?" if close else "`fanout config list` shows them all."
        raise UsageError(f"there is no setting {one_line(first, 60)}.", hint)
    kind = shape_of(first)[0]
    if bool(rest) != (kind == "table"):
        what = "is a table: name a key of it" if kind == "table" else "is no table"
        raise UsageError(f"{first} {what}.", f"As in {first}.NAME." if kind == "table" else "")
    if not rest:
        return (first,)
    return (first, rest) if first in _ONE_KEY else (first, *rest.split("."))


def write_setting(path: Path, name: str, text: str) -> Any:
    """Sets `name` to what `text` says, and gives that. Raises UsageError for a name or a value that can't be, and
    ConfigError for a file that is broken or can't be written."""
    parts = parts_of(name)
    value = _read(parts, text)
    _change(path, parts, value)
    return value


def remove_setting(path: Path, name: str) -> bool:
    """Takes `name` out of the file, also one that is no setting; False when it isn't there. Raises as
    `write_setting` does."""
    try:
        parts = parts_of(name)
    except UsageError:
        parts = tuple(name.split("."))
        if _at(_read_file(path)[1], parts) is None:
            raise
    return _change(path, parts, None)


def _read(parts: Sequence[str], text: str) -> Any:
    """What a text says for a setting; what it may be is for the model to judge."""
    kind = shape_of(".".join(parts) if parts[0] == "ui" else parts[0])[0]
    text = text.strip()
    if kind == "bool":
        return _YES.get(text.lower(), text)
    if kind == "list":
        return [part.strip() for part in text.split(",") if part.strip()]
    if kind == "number" or parts[0] in ("limits", "injected", "extra_body") or parts[-1] in _NUMBERS:
        return _number(text)
    return text


def _number(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text.replace("_", ""))
        except ValueError:
            pass
    return text


def _read_file(path: Path) -> tuple[str, dict[str, Any]]:
    """The text of the file, "" where there is none, and its values."""
    with settings_file(path):
        text = read_text(path) if path.exists() else ""
        return text, parse_toml(text, path)


def _change(path: Path, parts: Sequence[str], value: Any) -> bool:
    import tomlkit  # 30 ms, and only when something is changed
    from tomlkit.exceptions import TOMLKitError

    text, before = _read_file(path)
    if value is not None:
        _check(parts, value)  # before the file is touched
    elif _at(before, parts) is None:
        return False
    try:
        document = tomlkit.parse(text)
        table = cast("dict[str, Any]", document)
        for part in parts[:-1]:
            table = cast("dict[str, Any]", table.setdefault(part, tomlkit.table(is_super_table=part != parts[-2])))
        if value is None:
            del table[parts[-1]]
        else:
            table[parts[-1]] = value
        new = tomlkit.dumps(document)
    except TOMLKitError as error:
        raise ConfigError(
            f"{path}: {'.'.join(parts)} can't be changed from here: {error}", "Change it there."
        ) from None
    if _at(parse_toml(new, path), parts) != value:
        raise ConfigError(f"{path}: {'.'.join(parts)} can't be changed from here", "Change it there by hand.")
    replace_file(path, new)
    return True


def replace_file(path: Path, text: str) -> None:
    """Another text in place of a settings file's. Raises ConfigError, also for a file that its owner has protected:
    the folder alone would let it be replaced."""
    if path.exists() and not path.stat().st_mode & stat.S_IWUSR:
        raise ConfigError(f"{path} is write-protected", "Nothing was changed. `chmod u+w` on it lets it be.")
    write_private(path, text)


def _check(parts: Sequence[str], value: Any) -> None:
    """Whether the setting may be that: what is wrong with others in the file is not said here."""
    nested: Any = value
    for part in reversed(parts[1:]):
        nested = {part: nested}
    try:
        Settings.model_validate({parts[0]: nested})
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        if problem["type"] == "extra_forbidden":
            raise UsageError(f"there is no setting {one_line('.'.join(parts), 80)}.") from None
        shown = one_line(value if isinstance(value, str) else str(value), 60)
        raise UsageError(f"{'.'.join(parts)} {in_words(problem)}; not {shown}.") from None


def _at(values: Any, parts: Sequence[str]) -> Any:
    for part in parts:
        values = cast("dict[str, Any]", values).get(part) if isinstance(values, dict) else None
    return values
