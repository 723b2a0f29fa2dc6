"""The `fanout` command: arguments to a command, errors to one line, everything to an exit code. Next to nothing is
imported before the version is answered (0.02 s)."""

from __future__ import annotations

import sys

from console_app.commands import forget_stdout, write_out

TYPE_CHECKING = False  # type checkers know the name; importing typing would take a tenth of the time of --version
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Sequence
    from typing import NoReturn

    from console_app.config.secrets import Redactor
    from console_app.console import Services

EXIT_FAILED, EXIT_USAGE, EXIT_INTERRUPTED = 1, 2, 130


def main() -> NoReturn:
    arguments = sys.argv[1:]
    if arguments in (["--version"], ["-V"]):
        raise SystemExit(_ended(lambda: _versions(libraries=False)))
    if arguments[:1] == ["__complete"]:  # a key press waits for it
        raise SystemExit(_complete(arguments[1:]))
    raise SystemExit(run(arguments, own_process=True))


def run(arguments: Sequence[str], *, own_process: bool = False) -> int:
    def work() -> int:
        import gc

        # Importing makes many objects and next to no garbage: looking for it takes a fifth of the time of a start.
        # `wiring.freeze_collector` switches the collector on again.
        gc.disable()
        from console_app.command_line import parse_arguments

        parsed = parse_arguments(arguments)
        parsed.own_process = own_process
        return _dispatch(parsed)

    return _ended(work, debug="--debug" in arguments)


def _ended(work: Callable[[], int], *, debug: bool = False) -> int:
    try:
        import os

        for descriptor in range(3):
            try:
                os.fstat(descriptor)
            except OSError:
                # It gets the lowest free number, this one. What standard output loses is an error, as on a full disk.
                os.open(os.devnull, os.O_RDONLY if descriptor < 2 else os.O_WRONLY)
        # Typed as never None, but that is what Python leaves there for a closed descriptor.
        sys.stdin = sys.stdin or os.fdopen(0, closefd=False)
        sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
        sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False)
        return work()
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        forget_stdout()
        return EXIT_FAILED
    except Exception as error:
        # Before 3.12 Python turns what interrupts the making of a class, as in an import, into a RuntimeError.
        return EXIT_INTERRUPTED if isinstance(error.__cause__, KeyboardInterrupt) else _report(error, debug=debug)


def _complete(words: Sequence[str]) -> int:
    """Answer a shell's completion. An error is told to nobody: a line of it would stand in the prompt."""
    try:
        from console_app.command_line import answer

        sys.stdout.write(answer(words))
        sys.stdout.flush()
    except Exception:
        return EXIT_FAILED
    return 0


def _dispatch(parsed: Namespace) -> int:
    if parsed.command == "console":
        if parsed.version or parsed.verbose:
            return _versions(libraries=parsed.verbose)
        if not parsed.print_answer:
            return _console(parsed)
    if parsed.command == "program" and (opened := _opened_by_program(parsed)) is not None:
        return _console(opened)
    import signal

    from console_app.domain.ending_signals import ending_signals

    for number in ending_signals():
        if number is not signal.SIGINT:
            signal.signal(number, signal.default_int_handler)
    match parsed.command:
        case "parse":
            from console_app.commands import run_parse

            return run_parse(parsed)
        case "schema":
            from console_app.commands import run_schema

            return run_schema(parsed)
        case "completion":
            from console_app.command_line import SCRIPTS

            return _write(SCRIPTS[parsed.shell])
        case "man":
            from console_app.command_line import page

            return _write(page(*parsed.words[:1]))
        case _:
            pass
    from console_app.commands import run_command

    _in_a_folder(parsed)
    return run_command(parsed)


def _opened_by_program(parsed: Namespace) -> Namespace | None:
    """Return the console's arguments where a program runs in it: at a terminal, unless it is to be printed."""
    import os

    printed = parsed.print_answer or parsed.output_format != "text" or parsed.words == ["-"]
    if printed or not (os.isatty(0) and os.isatty(1)):
        return None
    from console_app.command_line import parse_arguments
    from console_app.commands import call_of_program

    opened = parse_arguments([])
    vars(opened).update(vars(parsed) | {"command": "console", "prompt": call_of_program(parsed)})
    return opened


def _in_a_folder(parsed: Namespace) -> None:
    import os

    from console_app.domain import UsageError

    try:
        if not parsed.cwd:
            os.getcwd()
    except OSError:
        raise UsageError("the working folder is not there any more", "Go to another, or name one: -C DIR.") from None


def _versions(*, libraries: bool) -> int:
    from console_app._version import __version__

    if not libraries:
        return _write(f"fanout {__version__}\n")
    from console_app.config.machine import extras

    lines = [f"{name} {version or 'is not installed'}" for name, version in extras.installed().items()]
    lines += [
        f"{name} {version or f'is not installed, optional: {extra}'}"
        for name, (extra, version) in extras.optional().items()
    ]
    return _write("".join(f"{line}\n" for line in lines))


def _write(text: str) -> int:
    write_out(text)
    return 0


def _console(parsed: Namespace) -> int:
    import os

    from console_app.domain import UsageError

    if not (os.isatty(0) and os.isatty(1)):
        raise UsageError("the console needs a terminal", "Without one: fanout run PROMPT.")
    _in_a_folder(parsed)
    if _in_lines(parsed):
        from console_app.commands import run_in_lines

        return run_in_lines(parsed)
    if os.environ.get("TERM", "") in ("", "dumb", "unknown"):
        raise UsageError(
            f"the console can't draw on this terminal (TERM={os.environ.get('TERM', '')})",
            "As lines: fanout --screen-reader. One prompt: fanout run PROMPT.",
        )
    return _on_screen(parsed)


def _on_screen(parsed: Namespace) -> int:
    """Run the console until it is left: paint at once, and load what it runs on behind the first paint. What is wrong
    in the settings is found out with the screen already taken: it is given back first, then the one line is told."""
    import os
    from pathlib import Path

    from console_app.config.files import Paths
    from console_app.config.machine import BrowserPage
    from console_app.config.settings import read_startup_settings
    from console_app.tui import FanoutApp, StartupParts

    for name in ("COLUMNS", "LINES"):  # as they were when the shell set them; the terminal knows its size
        os.environ.pop(name, None)

    def load() -> Services:
        # This imports settings, engine and servers, which takes longer than the first paint.
        from console_app.commands import open_services

        return open_services(parsed)

    def write_crash_report(error: BaseException) -> Path | None:
        from console_app.config.machine import write_report
        from console_app.config.secrets import Redactor

        return write_report(paths.state, error, Redactor.in_use(os.environ), doing="opening")

    paths, cwd = Paths.find(), Path(parsed.cwd or ".").absolute()
    settings = read_startup_settings(paths, cwd=cwd, flag=parsed.theme, environ=os.environ)
    parts = StartupParts(
        load=load,
        history_path=paths.history,
        theme_dirs=paths.theme_dirs,
        theme=settings.theme,
        working_folder=cwd,
        keymap=settings.keys,
        theme_is_set=settings.theme_is_set,
        write_crash_report=write_crash_report,
    )
    app = FanoutApp(parts, prompt=parsed.prompt)
    code = app.run() or 0
    if app.failure is not None:
        raise app.failure
    if app.crash is not None:
        where = app.crash_report or "the log (fanout config path)"
        sys.stderr.write(f"fanout: ended by an internal error, {type(app.crash).__name__}. What happened: {where}\n")
    elif code == 0 and app.kept_session and sys.stdout.isatty() and BrowserPage.in_use() is None:
        sys.stdout.write(f"fanout -r {app.kept_session[:8]} goes on with this conversation.\n")
    return code


def _in_lines(parsed: Namespace) -> bool:
    if parsed.screen_reader:
        return True
    import os
    from pathlib import Path

    from console_app.config.files import Paths
    from console_app.config.settings import read_startup_settings

    return read_startup_settings(Paths.find(), cwd=Path(), flag=None, environ=os.environ).screen_reader


def _report(error: Exception, *, debug: bool) -> int:
    """Say `error` in one line; where it is our own mistake, a file (and with --debug standard error) has the rest."""
    import os

    from console_app.config.secrets import Redactor
    from console_app.domain import ConfigError, FanoutError, UsageError, one_line

    redactor = Redactor.in_use(os.environ)
    if isinstance(error, FanoutError):
        line, code = error.line, EXIT_USAGE if isinstance(error, ConfigError | UsageError) else EXIT_FAILED
    else:
        line, code = f"unexpected {type(error).__name__}: {error}. {_write_report(error, redactor, debug)}", EXIT_FAILED
    try:
        sys.stderr.write(f"fanout: {one_line(redactor.clean(line))}\n")
        sys.stderr.flush()
    except OSError:
        pass  # nobody reads standard error; the exit code still says it
    return code


def _write_report(error: Exception, redactor: Redactor, debug: bool) -> str:
    """Write what happened to a file, and say where that is."""
    import logging
    import traceback

    from console_app.config.files import Paths
    from console_app.config.machine import write_report
    from console_app.domain import visible

    if debug:
        sys.stderr.write(visible(redactor.clean("".join(traceback.format_exception(error)))))
    if logging.getLogger().handlers:  # else the log is not open yet, and logging would write to the terminal
        logging.getLogger(__name__).error("unexpected error", exc_info=error)
    path = write_report(Paths.find().state, error, redactor)
    return "--debug shows more." if path is None else f"What happened: {path}"
