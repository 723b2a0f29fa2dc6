"""`fanout serve`: its options checked, and what consoles get of this environment; `web/` does the rest."""

from __future__ import annotations

import stat
import sys
from collections.abc import Sequence
from functools import partial

from console_app.command_line import parse_arguments
from console_app.config.files import disk
from console_app.config.machine import extras
from console_app.config.secrets import child_environment
from console_app.domain import UsageError, web_address
from console_app.wiring import Setup

OTHERS_READ = stat.S_IRGRP | stat.S_IROTH
VARIABLE = "FANOUT_SERVE_TOKEN"
ADDRESSES = ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "OLLAMA_HOST")


def run_serve(setup: Setup) -> int:
    """Serve until it is interrupted. Raises UsageError."""
    try:
        import websockets  # noqa: F401  # pyright: ignore[reportUnusedImport]  # uvicorn imports it when a page connects

        from console_app import page, web
        from console_app.commands.console import open_services

        serve = web.serve
    except ModuleNotFoundError as error:
        missing = f"the console in a browser needs {error.name}, which is not installed"
        raise UsageError(missing, extras.how_to_install("web")) from None

    asked = setup.arguments
    token = _token(setup)
    seen = [one for one in token or "" if one.isprintable() and not one.isspace()]
    for many, least, what in ((seen, web.LEAST_TOKEN, ""), (set(seen), web.LEAST_DIFFERENT, "different ")):
        if token is not None and len(many) < least:
            raise UsageError(f"the token has fewer than {least} {what}characters", "Whoever has it runs tools as you.")
    setup.redactor.add(token)
    if not web_address.is_loopback_host(asked.host):
        if token is None:
            raise UsageError(f"--host {asked.host} can be reached from elsewhere", "Give it a token: --token-file.")
        sys.stderr.write(
            f"fanout: {asked.host} speaks plain http: put TLS in front. Whoever has the token runs tools as you.\n"
        )
    public_urls: list[str] = asked.public_url or []
    for url in public_urls:
        try:
            web.origin_of(url)
        except ValueError:
            raise UsageError(f"--public-url {url} is no web address", "As https://fanout.example/") from None
    parsed = parse_arguments(asked.words)
    if parsed.command != "console" or parsed.print_answer or parsed.version or parsed.verbose:
        raise UsageError(f"{' '.join(asked.words)!r} opens no console", "Behind -- stand options of the console.")
    environ = _environment(setup, asked.env or [])
    options = web.ServeOptions(
        host=asked.host,
        port=asked.port,
        token=token,
        public_urls=public_urls,
        most=asked.consoles,
        keep=asked.keep * 60,
        arguments=asked.words,
        environ=environ,
        cwd=setup.cwd,
        shared=page.LivePage(partial(open_services, parsed, environ)),
    )
    serve(options)
    return 0


def _token(setup: Setup) -> str | None:
    """Return one's own token from an argument, a file, a pipe or a variable. Raises UsageError."""
    path: str | None = setup.arguments.token_file
    asked: str | None = setup.arguments.token
    if path is None:
        return setup.environ.get(VARIABLE) if asked is None else asked
    if asked is not None:
        raise UsageError("--token and --token-file are two tokens", "Give one: other users see the argument.")
    try:
        token = disk.contents(setup.cwd / path, piped=True).decode().strip()
        if (setup.cwd / path).stat().st_mode & OTHERS_READ:
            sys.stderr.write(f"fanout: others can read --token-file {path}, and run tools as you: chmod 600 it.\n")
        return token
    except UnicodeError:
        why = "it is no UTF-8 text"
    except OSError as error:
        why = str(error.strerror)
    raise UsageError(f"--token-file {path} can't be read: {why}", "Name a file that holds the token alone.")


def _environment(setup: Setup, given: Sequence[str]) -> dict[str, str]:
    """Return a console's environment: the minimum, keys and addresses of configured providers, and what was given."""
    providers = setup.settings.known_providers()
    keys = [config.api_key_env for config in providers.values() if config.api_key_env]
    named = [one for one in given if "=" not in one]
    missing = [name for name in named if name not in setup.environ]
    if missing:
        raise UsageError(f"--env {missing[0]} is not set", "Set it, or give its value: --env NAME=VALUE.")
    values = dict(one.split("=", 1) for one in given if "=" in one)
    if "" in values or "" in named:
        raise UsageError("--env has no name", "As NAME, or NAME=VALUE.")
    environ = {name: value for name, value in setup.environ.items() if name != VARIABLE}
    return {**child_environment.for_consoles(environ, [*keys, *ADDRESSES, *named]), **values}
