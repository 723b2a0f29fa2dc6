"""The files of Fanout and of a project: where they are, how they are read and written, and which are trusted."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console_app.config.files.paths import PROJECT_FOLDER as PROJECT_FOLDER
    from console_app.config.files.paths import Paths as Paths
    from console_app.config.files.toml_text import line_column as line_column
    from console_app.config.files.toml_text import lines_of as lines_of
    from console_app.config.files.toml_text import parse_toml as parse_toml
    from console_app.config.files.toml_text import position as position
else:
    from console_app.door import door

    __getattr__ = door(__name__, __file__)
