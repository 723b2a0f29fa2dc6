"""The commands of the command line do their work here: one module each, opened by `dispatch`."""

TYPE_CHECKING = False  # type checkers know the name; --version waits for no import of typing
if TYPE_CHECKING:
    from console_app.commands.console import open_services as open_services
    from console_app.commands.console import run_in_lines as run_in_lines
    from console_app.commands.dispatch import run_command as run_command
    from console_app.commands.parse import run_parse as run_parse
    from console_app.commands.program import call_of_program as call_of_program
    from console_app.commands.schema import run_schema as run_schema
    from console_app.commands.standard_output import forget_stdout as forget_stdout
    from console_app.commands.standard_output import write_out as write_out
else:
    from console_app.door import door

    __getattr__ = door(__name__, __file__)
