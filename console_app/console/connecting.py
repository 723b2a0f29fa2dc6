"""Connects a model by its address. Only loopback is looked at unasked, and without any key. A key is used in memory
until its model has answered, and only then kept."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Mapping, Sequence

from console_app.config.files import Paths
from console_app.config.models import TypedEndpoint, choose_model
from console_app.config.secrets import Redactor
from console_app.console.models import ConfiguredModels, Models
from console_app.domain import ConfigError, UserMessage, errors, ports, web_address
from console_app.domain import chunks as ch
from console_app.domain.settings import VENDOR_URLS, ProviderConfig
from console_app.records import dataclass, field, replace

LOOKING = 2.0  # seconds for what answers on this machine
LISTING = 30.0  # seconds for one list of models: what starts with its first request takes its time
REACHING = 10.0  # seconds for an endpoint that is typed to be reached at all
TRIAL = 60.0  # seconds to the first word: a local model is loaded by its first request
_QUESTION = "Reply with the one word: ready"


@dataclass(frozen=True, slots=True)
class LocalEndpoint:
    name: str
    url: str
    models: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Listing:
    """An endpoint with the models that it lists. Where it lists none, a name has to be typed, and `why` says so."""

    connection: TypedEndpoint
    models: tuple[str, ...]
    why: str = "It lists none."


@dataclass(eq=False)
class Connecting:
    _paths: Paths
    _source: ConfiguredModels
    _models: Models
    _redactor: Redactor
    ports: Mapping[int, str] = field(default_factory=lambda: TypedEndpoint.USUAL_PORTS)  # to programs that listen there

    async def local(self) -> Sequence[LocalEndpoint]:
        found = await asyncio.gather(*(self._at(port, name) for port, name in self.ports.items()))
        return [one for one in found if one is not None]

    async def listing(self, address: str, key: str) -> Listing:
        urls = TypedEndpoint.urls(address)
        self._redactor.add(key)
        first: Listing | None = None
        refused: errors.ProviderError | None = None
        for candidate in urls:
            made = TypedEndpoint.of(self._source.settings, self._source.environ, candidate, key)
            first = first or Listing(made, ())
            try:
                names = await _listed(_config(made, "any"), LISTING)
            except TimeoutError:
                return replace(first, why=f"No list came within {LISTING:g} s.")  # it may answer all the same
            except errors.ProviderError as error:
                if error.status is None or error.status in (401, 403):
                    raise refused if error.status is None and refused is not None else error from None
                refused = refused or error
            else:
                if names:
                    return Listing(made, tuple(names))
        assert first is not None  # there is always a candidate
        if refused is not None and refused.status not in (404, 405, 501):
            raise refused
        return first

    async def try_out(self, made: TypedEndpoint, model: str) -> float:
        from console_app.providers import open_provider, preload

        config = replace(_config(made, model), read_timeout=TRIAL)
        await asyncio.to_thread(preload)
        provider = open_provider(config)
        began = time.monotonic()
        try:
            async with (
                asyncio.timeout(TRIAL),
                provider.stream(ports.ModelRequest((UserMessage(content=_QUESTION),))) as chunks,
            ):
                async for chunk in chunks:
                    if isinstance(chunk, ch.TextChunk | ch.ReasoningChunk) and chunk.text.strip():
                        return time.monotonic() - began
        except TimeoutError:
            raise errors.ProviderError(
                f"{model} at {web_address.host(made.url)}: no word within {TRIAL:g} s",
                "It may still be loading: try once more.",
            ) from None
        finally:
            await provider.close()
        raise errors.ProviderError(
            f"{model} at {web_address.host(made.url)} answered with nothing", "Take another model."
        )

    async def keep(self, made: TypedEndpoint, model: str) -> str:
        """Have `model` answer now and after the next start; say what was kept where. Raises FanoutError with nothing
        changed but that."""
        place = await asyncio.to_thread(made.keep, self._paths, model)
        name = f"{made.provider}/{model}"
        settings = made.settings.model_copy(update={"model": name})
        source = replace(self._source, settings=settings, environ=made.environ, source="/connect")
        await self._models.connect(source, name)
        self._source = source
        await asyncio.to_thread(self._models.warm_up)
        key = f"; the key is in {place}, for {web_address.host(made.url)} alone" if place else ""
        return f"{name} answers from now on, and from the next start: {self._paths.settings}{key}."

    async def _at(self, port: int, name: str) -> LocalEndpoint | None:
        if not await _listens(port):
            return None
        url = f"http://127.0.0.1:{port}/v1"
        config = ProviderConfig(name, "openai-chat", "any", url, connect_timeout=LOOKING, max_tries=1)
        try:
            models = await _listed(config, LOOKING)
        except TimeoutError:
            return None
        except errors.ProviderError as error:
            return LocalEndpoint(name, url, None) if error.status in (401, 403) else None
        return LocalEndpoint(name, url, tuple(models))


def _config(made: TypedEndpoint, model: str) -> ProviderConfig:
    """Configure a single try. The name is "endpoint", since nobody has seen the one in the settings yet."""
    try:
        config = choose_model(made.settings, made.environ, name=f"{made.provider}/{model}").config
    except ConfigError as error:
        raise ConfigError(error.detail, _KEY_HINT) from None
    assert config is not None  # a connection has an endpoint
    name = made.provider if made.url in VENDOR_URLS.values() else "endpoint"
    return replace(config, name=name, base_url=made.url, connect_timeout=REACHING, max_tries=1, key_hint=_KEY_HINT)


_KEY_HINT = "Type its key, or another one, into the field for it."


async def _listed(config: ProviderConfig, within: float) -> list[str]:
    from console_app.providers import list_models, preload

    await asyncio.to_thread(preload)
    async with asyncio.timeout(within):
        names = await list_models(config)
    return sorted(names, key=lambda name: ("embed" in name.lower(), name))


async def _listens(port: int) -> bool:
    writer: asyncio.StreamWriter | None = None
    try:
        async with asyncio.timeout(LOOKING):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:  # TimeoutError is one
        return False
    finally:
        if writer is not None:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
    return True
