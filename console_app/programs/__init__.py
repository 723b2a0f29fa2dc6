"""Programs that a model writes: Python without I/O, whose functions are the tools that are on.

The interpreter (pydantic-monty, the extra `programs`) runs in a process of its own, as it may end its host's.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console_app.programs.runner import Runner as Runner
else:
    from console_app.door import door

    __getattr__ = door(__name__, __file__)
