"""The first paint's theme and keys are those that the settings have, read without them."""

from __future__ import annotations

from pathlib import Path

from console_app.config.files import Paths
from console_app.config.settings import LayeredSettings, read_startup_settings
from console_app.config.settings.startup_settings import StartupSettings
from tests.each import each

USER = 'theme = "fjord"\n[keys]\n"prompt.send" = ["enter", "f5"]\n"chat.help" = "f2"\n'


def look(folder: Path, *, flag: str | None = None, environ: dict[str, str] | None = None) -> StartupSettings:
    return read_startup_settings(paths(folder), cwd=folder / "work", flag=flag, environ=environ or {})


def paths(folder: Path) -> Paths:
    return Paths(folder, folder, folder)


@each("flag", [None, "okabe-dark"])
@each("variable", [None, "", "contrast-dark"])
@each("project", [None, 'theme = "fanout-light"\n'])
@each("user", [None, USER])
def test_it_is_what_the_settings_say(
    tmp_path: Path, flag: str | None, variable: str | None, project: str | None, user: str | None
) -> None:
    environ = {} if variable is None else {"FANOUT_THEME": variable}
    (tmp_path / "work" / ".fanout").mkdir(parents=True)
    if project is not None:
        (tmp_path / "work" / ".fanout" / "config.toml").write_text(project)
    if user is not None:
        (tmp_path / "config.toml").write_text(user)
    settings = LayeredSettings.load(
        paths(tmp_path),
        cwd=tmp_path / "work",
        flags={"theme": flag},
        environ=environ,
    ).settings
    found = look(tmp_path, flag=flag, environ=environ)
    assert (found.theme, found.keys) == (settings.theme, settings.keys)


@each("text", [b"theme = [", b"\xff\xfe", b"theme = 3\nkeys = 4", b"[keys]\na = 3\nb = {c = 1}"])
def test_what_is_wrong_counts_as_not_said(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "config.toml").write_bytes(text)
    assert look(tmp_path) == StartupSettings()
    assert look(tmp_path, flag="fjord").theme == "fjord"
