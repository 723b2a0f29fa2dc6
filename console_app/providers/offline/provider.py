"""The offline model as a provider: it plans an answer by rules and streams it the way a model would."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager

from console_app.domain import AssistantMessage, ports
from console_app.domain import chunks as ch
from console_app.providers.offline.answer import OfflineAnswer, answer
from console_app.providers.playback import Beat, playing, request_words, words

WORDS_PER_SECOND = 80.0  # about as fast as people see hosted models write
_THINKING = 0.15  # seconds before the first word, as a round trip would take
_PIECE = 8  # characters of arguments a delta
_WORD = re.compile(r"\S+\s*|\s+")


class OfflineProvider:
    """A model without key or network, labelled as what it is. `pace` is words a second, 0 for at once.

    `max_tokens`, `temperature` and `stop` mean nothing to it. Tokens in its usage are counted in words.
    """

    def __init__(self, pace: float = WORDS_PER_SECOND) -> None:
        self._pace = pace

    @property
    def name(self) -> str:
        return "offline"

    @property
    def model(self) -> str:
        return "rehearsal"

    @property
    def protocol(self) -> str:
        return "offline"

    @property
    def no_pictures(self) -> str:
        return "it goes by words"

    def stream(self, request: ports.ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[ch.Chunk]]:
        """Stream the answer to `request`; it fails in no way."""
        return playing(self._beats(request))

    async def close(self) -> None:
        pass

    def _beats(self, request: ports.ModelRequest) -> Iterator[Beat]:
        reply = answer(request)
        pause = 1 / self._pace if self._pace > 0 else 0.0
        yield Beat(None, _THINKING if pause else 0.0)
        for word in _WORD.findall(reply.text):
            yield Beat(ch.TextChunk(word), pause)
        before = sum(len(one.tool_calls) for one in request.messages if isinstance(one, AssistantMessage))
        yield from _call_beats(reply, before, pause)
        written = words(reply.text) + sum(1 + words(call.arguments) for call in reply.calls)
        yield Beat(ch.UsageChunk(request_words(request), written))
        yield Beat(ch.FinishChunk("tool_calls" if reply.calls else "stop"))


def _call_beats(reply: OfflineAnswer, before: int, pause: float) -> Iterator[Beat]:
    # All are announced before the first is complete: an instant tool would else be done before the next has a panel.
    for index, call in enumerate(reply.calls):
        yield Beat(ch.CallOpened(index, f"offline_{before + index + 1}", call.spec.name), pause)
    for index, call in enumerate(reply.calls):
        for at in range(0, len(call.arguments), _PIECE):
            yield Beat(ch.CallDelta(index, call.arguments[at : at + _PIECE]), pause)
        yield Beat(ch.CallClosed(index, call.arguments))
