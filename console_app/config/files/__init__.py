"""The files of Fanout and of a project: where they are, how they are read and written, and which are trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console_app.config.files.disk import MOST_RECORD as MOST_RECORD
    from console_app.config.files.disk import PRIVATE_FILE as PRIVATE_FILE
    from console_app.config.files.disk import NotPlain as NotPlain
    from console_app.config.files.disk import contents as contents
    from console_app.config.files.disk import keep_record as keep_record
    from console_app.config.files.disk import opened as opened
    from console_app.config.files.disk import private_folder as private_folder
    from console_app.config.files.disk import read_record as read_record
    from console_app.config.files.disk import read_text as read_text
    from console_app.config.files.disk import texts as texts
    from console_app.config.files.disk import write_private as write_private
    from console_app.config.files.disk import write_record as write_record
    from console_app.config.files.paths import PROJECT_FOLDER as PROJECT_FOLDER
    from console_app.config.files.paths import Paths as Paths
    from console_app.config.files.paths import project_mcp as project_mcp
    from console_app.config.files.paths import project_settings as project_settings
    from console_app.config.files.toml_text import lines_of as lines_of
    from console_app.config.files.toml_text import parse_toml as parse_toml
    from console_app.config.files.toml_text import position as position
    from console_app.config.files.trusted import IN_A_SHELL as IN_A_SHELL
    from console_app.config.files.trusted import Written as Written
    from console_app.config.files.trusted import is_trusted as is_trusted
    from console_app.config.files.trusted import scripts_of as scripts_of
    from console_app.config.files.trusted import trust as trust
    from console_app.config.files.trusted import trust_edit as trust_edit
else:
    from console_app.door import door

    __getattr__ = door(
        __name__,
        {
            "disk": (
                "MOST_RECORD NotPlain PRIVATE_FILE contents keep_record opened private_folder read_record "
                "read_text texts write_private write_record"
            ),
            "paths": "PROJECT_FOLDER Paths project_mcp project_settings",
            "toml_text": "lines_of parse_toml position",
            "trusted": "IN_A_SHELL Written is_trusted scripts_of trust trust_edit",
        },
    )
