"""The command line: its table of commands, how it is read, and the help, manual and completion made of it."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console_app.command_line.commands import COMMANDS as COMMANDS
    from console_app.command_line.commands import CONSOLE as CONSOLE
    from console_app.command_line.completion import SCRIPTS as SCRIPTS
    from console_app.command_line.completion import answer as answer
    from console_app.command_line.help_text import page as page
    from console_app.command_line.parser import parse_arguments as parse_arguments
else:
    from console_app.door import door

    __getattr__ = door(__name__, __file__)
