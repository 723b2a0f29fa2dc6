"""The door of a package: what others may use of it, each name imported from its module when it is first asked for.

So a door costs nothing to open: importing one name of a room imports no other module of that room.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # type checkers know the name; --version waits for no import of typing
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def door(package: str, modules: Mapping[str, str]) -> Callable[[str], object]:
    """Return the `__getattr__` of `package`. `modules` gives for each of its modules the names that stand in the door,
    divided by blanks."""
    module_of = {name: module for module, names in modules.items() for name in names.split()}

    def get(name: str) -> object:
        if (module := module_of.get(name)) is None:
            raise AttributeError(f"{package} offers no {name}")
        from importlib import import_module

        value: object = getattr(import_module(f"{package}.{module}"), name)
        setattr(sys.modules[package], name, value)  # the next look needs no search
        return value

    return get
