"""Imports what needs the MCP SDK (0.5 s), from one thread at a time.

The SDK's packages import each other in circles: two threads that enter one at different places are a deadlock, which
Python ends by failing one of the imports. A client loads the SDK's servers too, with the web server below them: a third
of the time, only to ask whether what it connects to is one of them. So empty stand-ins are there meanwhile. Of its 500
models a conversation needs some 30: each is built when it is first used, which takes another third off.
"""

from __future__ import annotations

import asyncio
import importlib
import sys
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, cast

_one_at_a_time = threading.Lock()
_ROOTS = (
    "anyio",
    "httpx2",
    "mcp",
)  # the first two are shared with the providers' SDKs, which another thread may import


def preload() -> None:
    """Import the SDK and what a program's connection needs of ours; meant for a thread, after the first paint.

    Where a file can't be opened now, as servers that start have all descriptors, whoever needs it imports it then.
    """
    with suppress(OSError):
        for name in ("connecting.session", "transport.stdio"):
            _import(name)


async def load(name: str) -> ModuleType:
    """Return the module `name` of this package, imported in a thread, so that the console answers keys meanwhile."""
    return await asyncio.to_thread(_import, name)


def _import(name: str) -> ModuleType:
    with _one_at_a_time:
        with _without_servers(), _built_when_used():
            for root in _ROOTS:
                importlib.import_module(root)
        return importlib.import_module(f"console_app.mcp_client.{name}")


class _Nothing:
    """A class of which nothing is an instance; it takes parameters, as those that it stands for."""

    def __class_getitem__(cls, _parameters: object) -> type[_Nothing]:
        return cls


class _StandIn(ModuleType):
    """A module that has every name."""

    def __getattr__(self, name: str) -> type[_Nothing]:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Nothing


class _StandIns(MetaPathFinder, Loader):
    def find_spec(self, fullname: str, path: Sequence[str] | None, target: Any = None) -> ModuleSpec | None:
        is_one = fullname == "mcp.server" or fullname.startswith("mcp.server.")
        return ModuleSpec(fullname, self, is_package=True) if is_one else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _StandIn(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Leave it empty."""


@contextmanager
def _without_servers() -> Generator[None]:
    if "mcp" in sys.modules:
        yield
        return
    sys.meta_path.insert(0, finder := _StandIns())
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name, module in sys.modules.items() if isinstance(module, _StandIn)]:
            del sys.modules[name]
        if (sdk := sys.modules.get("mcp")) is not None:
            vars(sdk).pop("server", None)


@contextmanager
def _built_when_used() -> Generator[None]:
    """Have the models and adapters of modules that are imported meanwhile built when they are first used."""
    if "mcp" in sys.modules:
        yield
        return
    from pydantic import BaseModel, ConfigDict, TypeAdapter

    model, adapter = cast("Any", BaseModel), cast("Any", TypeAdapter)  # these stay: the SDK asks what is one of them
    config, begin, rebuild = model.model_config, adapter.__init__, model.model_rebuild.__func__

    def begin_late(self: Any, of: Any, **given: Any) -> None:
        if not isinstance(of, type):  # a model says it itself
            given.setdefault("config", ConfigDict(defer_build=True))
        begin(self, of, _parent_depth=given.pop("_parent_depth", 2) + 1, **given)

    @classmethod
    def rebuild_late(cls: Any, **given: Any) -> bool | None:  # the SDK asks for some at once; the first use gives more
        return rebuild(cls, **given) if given or not cls.__module__.startswith("mcp") else None

    model.model_config, adapter.__init__, model.model_rebuild = ConfigDict(defer_build=True), begin_late, rebuild_late
    try:
        yield
    finally:
        model.model_config, adapter.__init__, model.model_rebuild = config, begin, classmethod(rebuild)
