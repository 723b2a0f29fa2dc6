"""The output items of one response that are no calls of ours: which of them an event is of, and what was shown of it.

An item may be told of in pieces, when it is done, and once more when the response is completed; what is shown of it
counts once.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from console_app.providers.stream.labelled_calls import Where

PartKey = tuple[int, str]  # content_index, and whether it is text or a refusal


@dataclass(slots=True, eq=False)
class Item:
    """One item. `began` is how much text and how many calls came before it."""

    where: Where
    began: tuple[int, int]
    parts: dict[PartKey, list[str]] = field(default_factory=dict[PartKey, list[str]])
    thinking: list[str] = field(default_factory=list[str])
    thought_part: object = None
    phase: str = ""
    gap: int = 0  # of a message: how much parts it from the text before
    started: bool = False  # a call of the provider that has a panel
    done: bool = False
    kept: bool = False  # so that it goes back

    @property
    def text(self) -> str:
        """All text of it, its parts in the order in which they came."""
        return "".join(piece for pieces in self.parts.values() for piece in pieces)

    def missing(self, key: PartKey, whole: str) -> str:
        """What of a part's whole text has not come yet; "" where something else was shown."""
        came = "".join(self.parts.get(key, ()))
        return whole[len(came) :] if whole.startswith(came) else ""


class Items:
    """The items of one response, in the order in which they were first told of."""

    def __init__(self) -> None:
        self._items: list[Item] = []
        self._found: tuple[Where, Item] | None = None  # the newest answer of `find`, until there is another item

    def __iter__(self):
        return iter(self._items)

    def find(self, where: Where) -> Item | None:
        """The item that `where` tells: by all its labels, else by its place, as some servers change ids midway."""
        if self._found is not None and self._found[0] is where:
            return self._found[1]
        item = self._find(where)
        self._found = None if item is None else (where, item)
        return item

    def _find(self, where: Where) -> Item | None:
        ranked = [(agreement, item) for item in self._items if (agreement := item.where.agreement(where)) > 0]
        if ranked:
            best = max(agreement for agreement, _ in ranked)
            return [item for agreement, item in ranked if agreement == best][-1]
        if where.place is None:
            return None
        return next((item for item in reversed(self._items) if item.where.place == where.place), None)

    def at(self, where: Where, began: tuple[int, int]) -> Item:
        """The item that `where` tells; a new one where none was told of."""
        item = self.find(where)
        if item is None:
            item = self._add(where, began)
        return item

    def _add(self, where: Where, began: tuple[int, int]) -> Item:
        self._found = None
        self._items.append(Item(where, began))
        return self._items[-1]

    def listed(self, where: Where, text: str, began: tuple[int, int]) -> Item:
        """The message that the list at the end of a response names: places may have shifted there, and ids changed."""
        found = self.find(where)
        if found is not None and text.startswith(found.text):
            return found
        same = next((item for item in self._items if text and item.text == text), None)
        if same is not None:
            return same
        return self._add(where, began)

    def position(self, place: int, now: tuple[int, int]) -> tuple[int, int]:
        """Where an item that is told of late belongs: in front of the first that stood behind it."""
        behind = [item for item in self._items if item.where.place is not None and item.where.place > place]
        return min((item.began for item in behind), default=now)
