"""The door of a package: what others may use of it, each name imported from its module when it is first asked for.

So a door costs nothing to open: importing one name of a room imports no other module of that room.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # type checkers know the name; --version waits for no import of typing
if TYPE_CHECKING:
    from collections.abc import Callable


def door(package: str, file: str) -> Callable[[str], object]:
    """Return the `__getattr__` of `package`, which offers what its `file` imports for type checkers, a name a line."""
    module_of: dict[str, str] = {}

    def get(name: str) -> object:
        if not module_of:
            with open(file, encoding="utf-8") as lines:
                offered = [line.split() for line in lines if line.startswith("    from console_app.")]
            module_of.update({words[-1]: words[1] for words in offered if words[-1] != "door"})
        if (module := module_of.get(name)) is None:
            raise AttributeError(f"{package} offers no {name}")
        from importlib import import_module

        value: object = getattr(import_module(module), name)
        setattr(sys.modules[package], name, value)  # the next look needs no search
        return value

    return get
