"""Intents: everything that a user can do, once for all faces, and the slash commands made of it."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console_app.console.intents.commands import RUNNING as RUNNING
    from console_app.console.intents.commands import Commands as Commands
    from console_app.console.intents.table import INTENTS as INTENTS
    from console_app.console.intents.table import Bound as Bound
    from console_app.console.intents.table import Cannot as Cannot
    from console_app.console.intents.table import Key as Key
    from console_app.console.intents.table import Slash as Slash
    from console_app.console.intents.table import Ways as Ways
    from console_app.console.intents.table import intent_of as intent_of
    from console_app.console.intents.table import parse as parse
else:
    from console_app.door import door

    __getattr__ = door(__name__, __file__)
