"""The scripted model as a provider: which answer of its script is next, and playing it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from console_app.domain.chunks import Chunk
from console_app.domain.errors import ProviderError
from console_app.domain.messages import ToolMessage, UserMessage
from console_app.domain.ports import ModelRequest
from console_app.providers.playback import Beat, playing
from console_app.providers.scripted.format import Script
from console_app.providers.scripted.player import Player, play
from console_app.providers.scripted.reader import read_script


class ScriptedProvider:
    """Plays `script`, or the script file at that path (ConfigError when it can't be read), one answer a request."""

    def __init__(self, script: Script | Path | str) -> None:
        self._script = script if isinstance(script, Script) else read_script(Path(script))
        self._uses = [0] * len(self._script.answer)
        self._requests = 0

    @property
    def name(self) -> str:
        """The provider's name."""
        return "scripted"

    @property
    def model(self) -> str:
        """The script's name: its `name`, else that of its file."""
        return self._script.name

    @property
    def protocol(self) -> str:
        """The protocol that the script says it plays."""
        return self._script.protocol

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[Chunk]]:
        """Plays the next answer; a script that has none left is a ProviderError."""
        self._requests += 1
        return playing(self._beats(request, self._requests))

    async def close(self) -> None:
        """Nothing is held open."""

    def _beats(self, request: ModelRequest, number: int) -> Iterator[Beat]:
        prompts = [one.content for one in request.messages if isinstance(one, UserMessage) and one.origin == "user"]
        results = [one.content for one in request.messages if isinstance(one, ToolMessage)]
        prompt = prompts[-1] if prompts else ""
        index = self._next(prompt)
        if index is None and self._script.repeat:
            self._uses = [0] * len(self._uses)
            index = self._next(prompt)
        if index is None:
            detail = f"the script {self._script.name!r} has no answer left for request {number}"
            yield Beat(ProviderError(detail, "Give it another [[answer]], or `repeat = true`."))
            return
        self._uses[index] += 1
        names = {
            "n": "1",
            "use": str(self._uses[index]),
            "request": str(number),
            "prompt": prompt,
            "last_result": results[-1] if results else "",
        }
        tools = {spec.label: spec.name for spec in request.tools}
        yield from play(self._script.answer[index], Player(self._script, request, names, tools))

    def _next(self, prompt: str) -> int | None:
        for index, answer in enumerate(self._script.answer):
            left = answer.times == 0 or self._uses[index] < answer.times
            if left and answer.when.casefold() in prompt.casefold():
                return index
        return None
