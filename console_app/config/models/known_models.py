"""Keeps what was learnt of models: the dialect that each writes its calls in, and what its endpoint refused or was seen
to do when it was tested. Nothing secret stands in it.

What holds for a conversation (reasoning, pictures), for the balance of an account or for a length of requests is known
only while the console runs.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from console_app.config.files import disk
from console_app.domain import safe_text
from console_app.records import dataclass, field, fields


class KnownDialects:
    """The dialects in the file at `path`, each by "PROVIDER/MODEL at URL".

    A dialect is kept once you approved a call that was written in it, until it is dropped.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def get(self, key: str) -> str | None:
        return disk.texts(disk.read_record(self._path)).get(key)

    def keep(self, key: str, dialect: str) -> None:
        disk.keep_record(self._path, {**disk.texts(disk.read_record(self._path)), key: dialect})

    def drop(self, key: str) -> None:
        record = disk.texts(disk.read_record(self._path))
        if record.pop(key, None) is not None:
            disk.keep_record(self._path, record)


log = logging.getLogger(__name__)
MOST_MODELS = 100  # in a file; the newest
_NUMBERS = ("largest", "description")
_SETS = ("efforts", "keywords")


@dataclass(slots=True)
class Refusals:
    """The things that one endpoint refused for one model."""

    fields: dict[str, str | bool | None] = field(default_factory=dict[str, str | bool | None])  # left out, or changed
    efforts: set[str] = field(default_factory=set[str])
    keywords: set[str] = field(default_factory=set[str])  # of the tools' schemas
    largest: int | None = None  # tokens of an answer, whatever the request
    description: int | None = None  # characters of a tool's
    sees: bool = True  # pictures are sent until the endpoint says that its model takes none
    own_ids_refused: bool = False
    unsigned: bool = False  # calls of older answers get a placeholder for their signature
    no_blanks: bool = False  # null for the content of an answer
    no_system: bool = False  # a message of the system: its words begin your first one
    thoughts_wanted: bool = False  # every older answer goes with reasoning, its own or a blank
    by_turns: bool = False  # the messages of user and model
    no_stream: bool = False  # answers come whole
    items_wanted: bool = False  # every list in a tool's schema says of what it is
    plain_names: bool = False  # of tools' parameters
    # Shown by a test alone:
    takes_no_reasoning: bool = False  # not even what it has just given
    hides_cuts: bool = False  # an answer that is cut by its token limit ends as a whole one
    pairs_labels: bool = False  # a call's arguments come under a label of no call
    # Not written down:
    tools: set[str] = field(default_factory=set[str])  # by their names: one's schema is refused, and that is told anew
    reasoning: set[str] = field(default_factory=set[str])  # names of blocks that it no longer takes
    pictures: set[str] = field(default_factory=set[str])  # paths
    affordable: int | None = None  # tokens of an answer
    room: tuple[int, int, int] | None = None  # context and input in tokens, of a body of so many characters

    def clear(self) -> None:
        self.__init__()

    def take_back(self, before: Refusals, after: Refusals) -> None:
        """Forget what was learnt between the two; what others learnt since stays."""
        for name in before.fields.keys() | after.fields.keys():
            if before.fields.get(name, ...) != after.fields.get(name, ...):
                self.fields.pop(name, None)
                self.fields |= {name: before.fields[name]} if name in before.fields else {}
        for name in (one.name for one in fields(self) if one.name != "fields"):
            old, new, now = (getattr(of, name) for of in (before, after, self))
            if isinstance(now, set):
                now -= new - old
            elif now == new:
                setattr(self, name, old)

    def lasting(self) -> dict[str, Any]:
        """Return what is to be written down; {} where there is nothing."""
        usual, several = Refusals(), {name: sorted(getattr(self, name)) for name in _SETS if getattr(self, name)}
        own = {name: getattr(self, name) for name in (*_NUMBERS, *_FLAGS)}
        changed = {name: value for name, value in own.items() if value != getattr(usual, name)}
        return ({"fields": dict(self.fields)} if self.fields else {}) | several | changed

    @classmethod
    def read(cls, record: Any) -> Refusals:
        """Take up what was written down; values of another kind are passed over."""
        found = cls()
        given = safe_text.as_object(record)
        fields = safe_text.as_object(given.get("fields"))
        found.fields = {name: value for name, value in fields.items() if value is None or isinstance(value, bool | str)}
        for name in _SETS:
            if isinstance(words := given.get(name), list):
                setattr(found, name, {word for word in cast("list[Any]", words) if isinstance(word, str)})
        for name in _FLAGS:
            if isinstance(given.get(name), bool):
                setattr(found, name, given[name])
        for name in _NUMBERS:
            if type(given.get(name)) is int and given[name] > 0:
                setattr(found, name, given[name])
        return found


_FLAGS = tuple(one.name for one in fields(Refusals) if isinstance(one.default, bool))


class KnownRefusals:
    """The refusals of all models, by `API HOST MODEL`, in the file at `path`, if any.

    Another `version` of Fanout begins anew, since it may ask for other things. A model of which the file says nothing
    begins as it was `tested`.
    """

    def __init__(self, path: Path | None = None, version: str = "", tested: KnownEndpoints | None = None) -> None:
        self._path = path
        self._version = version
        self._tested = tested
        self._open: dict[str, Refusals] = {}
        self._begun_with: dict[str, dict[str, Any]] = {}  # as tested, read once
        self._doubtful: set[str] = set()  # models of which something was learnt that no answer bore out yet

    def of(self, key: str) -> Refusals:
        """Return the refusals of a model, the same object for all who ask."""
        if key not in self._open:
            written = self._written()
            self._open[key] = Refusals.read(written[key] if key in written else self._as_tested(key))
        return self._open[key]

    def learnt(self, key: str) -> None:
        """Note that something was given up for a model: the next answer shows whether it helps."""
        self._doubtful.add(key)

    def answered(self, key: str) -> None:
        """Keep what was learnt of a model, whose endpoint took a request as it is made now."""
        if key in self._doubtful:
            self._doubtful.remove(key)
            self.keep(key)

    def keep(self, key: str) -> None:
        if self._path is None:
            return
        models, lasting = self._written(), self.of(key).lasting()
        if models.pop(key, {}) == lasting and not self._as_tested(key):
            return
        if lasting or self._as_tested(key):
            models[key] = lasting
        newest = dict(list(models.items())[-MOST_MODELS:])
        disk.keep_record(self._path, {"version": self._version, "models": newest})

    def _as_tested(self, key: str) -> dict[str, Any]:
        if key not in self._begun_with:
            self._begun_with[key] = self._tested.refused(key) if self._tested is not None else {}
        return self._begun_with[key]

    def _written(self) -> dict[str, Any]:
        record = disk.read_record(self._path) if self._path is not None else {}
        return safe_text.as_object(record.get("models")) if record.get("version") == self._version else {}


class KnownEndpoints:
    """The fingerprints by `API HOST MODEL` in the file at `path`, each with the `version` of Fanout that made it."""

    def __init__(self, path: Path, version: str = "") -> None:
        self._path = path
        self._version = version

    def keep(self, key: str, findings: Mapping[str, Sequence[str]], refused: Mapping[str, Any]) -> None:
        """Write down what an endpoint was seen to do, what breaks because of it, and what it `refused`."""
        record = disk.read_record(self._path)
        record.pop(key, None)
        day = time.strftime("%Y-%m-%d")
        listed = {one: [*two] for one, two in findings.items()}
        record[key] = {"version": self._version, "day": day, "findings": listed, "refused": dict(refused)}
        disk.keep_record(self._path, dict(list(record.items())[-MOST_MODELS:]))

    def of(self, key: str) -> dict[str, list[str]]:
        """Return what an endpoint was seen to do the last time, and what broke; {} where it was not tested."""
        found = safe_text.as_object(self._of(key).get("findings"))
        lists = {name: cast("list[Any]", one) for name, one in found.items() if isinstance(one, list) and one}
        return {name: [str(word) for word in words] for name, words in lists.items()}

    def refused(self, key: str) -> dict[str, Any]:
        """Return what an endpoint refused as this version tested it, else {}; of another version the log tells."""
        record = self._of(key)
        if record and record.get("version") != self._version:
            log.warning("the fingerprint of %s is another version's and not used: test it again", key)
            return {}
        return safe_text.as_object(record.get("refused"))

    def _of(self, key: str) -> dict[str, Any]:
        return safe_text.as_object(disk.read_record(self._path).get(key))
