"""The models that the configuration offers, and the one that answers: one at the start, another from the next answer
on. Nothing is imported before it is needed: a console paints first."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from console_app.config.models import KnownRefusals, ModelChoice, choose_model
from console_app.config.settings import OFFLINE, SCRIPTED, Settings
from console_app.domain import ConfigError, FanoutError, UsageError, errors, one_line, ports
from console_app.providers import EndpointLimits
from console_app.records import dataclass, field, replace

if TYPE_CHECKING:
    from console_app.domain.settings import Effort, ProviderConfig
    from console_app.engine import Engine

PATIENCE = 15.0  # seconds for an endpoint to list its models
Wires = Callable[[ModelChoice], "ports.Provider"]  # what speaks to the endpoint of a choice
_ANSWER = 'One `word`.\n<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>'


@dataclass(frozen=True, slots=True)
class ModelListing:
    provider: str
    models: tuple[str, ...] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ConfiguredModels:
    """The models of some settings. A method raises FanoutError where a name or the configuration is wrong. `environ`
    has the keys, `source` says who set the model; files `dialects` and `refusals` remember. All conversations of the
    process share `limits`."""

    settings: Settings
    environ: Mapping[str, str]
    source: str = ""
    dialects: Path | None = None
    refusals: KnownRefusals = field(default_factory=KnownRefusals)
    limits: EndpointLimits = field(default_factory=EndpointLimits)
    folder: Path = Path()  # where agents work

    def choose(self, name: str = "") -> ModelChoice:
        """Return the model called `name`; without a name, the model that the configuration names or implies."""
        return choose_model(self.settings, self.environ, name=name, source="" if name else self.source)

    async def named(self, choice: ModelChoice) -> ModelChoice:
        """Return `choice` with a model, where it has none yet: the endpoint's usual one if it is listed, else the
        first. Models that only embed texts come last."""
        config = choice.config
        if choice.model or config is None:
            return choice
        hint = f"Name one: -m {choice.provider}/MODEL."
        try:
            names = await _listed(config)
        except errors.ProviderError as error:
            if error.status not in (404, 405, 501):
                raise
            raise ConfigError(f"no model was named, and {error.detail}", hint) from error
        if not names:
            raise ConfigError(f"no model was named, and {choice.provider} at {config.url} lists none", hint)
        usual = self.settings.known_providers()[choice.provider].model
        talking = [name for name in names if "embed" not in name.lower()] or names
        name = f"{choice.provider}/{usual if usual in names else talking[0]}"
        return choose_model(self.settings, self.environ, name=name, source=choice.why)

    def open(self, choice: ModelChoice, wires: Wires | None = None) -> ports.Provider:
        """Open a provider; `load` or the first request imports the HTTP library. Shared `wires` aren't closed with
        it."""
        if choice.provider == OFFLINE:
            from console_app.providers import OfflineProvider

            return OfflineProvider()
        if choice.agent:
            from console_app import acp_client

            programs = acp_client.agent_programs(self.settings, self.environ, self.folder)
            return acp_client.AcpModel(programs[choice.agent], choice.model.partition("/")[2])
        from console_app.config.models import KnownDialects
        from console_app.providers import TextProtocol, checked_dialect

        official = choice.config is not None and choice.config.official
        protocol, dialect = choice.settings.protocol or "auto", checked_dialect(choice.settings.dialect)
        known = KnownDialects(self.dialects) if self.dialects is not None else None
        at = choice.config.url if choice.config is not None else ""
        wire = _wire_provider(choice, self.refusals, self.limits) if wires is None else wires(choice)
        provider = TextProtocol(wire, protocol, dialect=dialect, official=official, known=known, at=at)
        if not (other := choice.settings.fallback):
            return provider
        from console_app.providers import WithFallback

        return WithFallback(
            provider, other, lambda: self.open(self.choose(other), wires), lambda: self._described(other)
        )

    def _described(self, name: str) -> ports.StandIn:
        choice = self.choose(name)
        return ports.StandIn(self.window(choice), choice.host)

    def load(self, choice: ModelChoice) -> None:
        """Import what the first request needs. Call it in a thread."""
        if choice.config is not None:
            from console_app.providers import preload

            preload()

    def window(self, choice: ModelChoice) -> int | None:
        if choice.settings.context_window or choice.config is None:
            return choice.settings.context_window
        from console_app.providers import context_window

        return context_window(choice.provider, choice.model, base_url=choice.config.base_url)

    async def names(self) -> tuple[Sequence[str], Sequence[str]]:
        """Return `PROVIDER/MODEL` of all models that endpoints list, or else that they are set to, and the providers
        that gave no list. Ollama is known without being set up, and not missed."""
        usable = {name: config for name, config in self.endpoints().items() if not isinstance(config, FanoutError)}
        names: list[str] = []
        silent: list[str] = []
        used = self.settings.chosen_provider(usable)
        for listing in await self.listings(usable):
            if listing.problem and (listing.provider != "ollama" or used == "ollama"):
                silent.append(listing.provider)
            preset = self.settings.known_providers()[listing.provider].model
            names += listing.models or ([f"{listing.provider}/{preset}"] if preset else [])
        return list(dict.fromkeys((*names, *self.settings.agent_models, ModelChoice.REHEARSAL))), silent

    @staticmethod
    async def listings(providers: Mapping[str, ProviderConfig | FanoutError]) -> Sequence[ModelListing]:
        """Ask every endpoint at once; a provider that can't be asked is given as the error that says why."""
        return await asyncio.gather(*(_ask(name, config) for name, config in providers.items()))

    def endpoints(self) -> dict[str, ProviderConfig | FanoutError]:
        """Return how to ask each provider for its models, or why not; the chosen one's first. The same endpoint isn't
        asked twice with one key."""
        providers = list(self.settings.known_providers())
        chosen = self.settings.chosen_provider(providers)
        found: dict[str, ProviderConfig | FanoutError] = {}
        asked: list[object] = []
        for name in sorted(providers, key=lambda name: name != chosen):
            try:
                config = self.choose(f"{name}/any").config
            except FanoutError as error:
                found[name] = error
                continue
            assert config is not None  # every provider of the settings has an endpoint
            if (endpoint := (config.url.removesuffix("/v1"), config.api_key, config.headers)) not in asked:
                found[name] = config
                asked.append(endpoint)
        return found


def _wire_provider(choice: ModelChoice, refusals: KnownRefusals, limits: EndpointLimits) -> ports.Provider:
    if choice.provider == SCRIPTED:
        from console_app.providers import ScriptedProvider

        return ScriptedProvider(Path(choice.model))
    from console_app.providers import open_provider

    assert choice.config is not None
    return open_provider(choice.config, refusals, limits.of(choice.config))


async def _ask(name: str, config: ProviderConfig | FanoutError) -> ModelListing:
    if isinstance(config, FanoutError):
        return ModelListing(name, problem=f"{config.detail}.")
    try:
        return ModelListing(name, tuple(f"{name}/{model}" for model in sorted(await _listed(config))))
    except FanoutError as error:
        return ModelListing(name, problem=f"{name}: {error.line}")


async def _listed(config: ProviderConfig) -> list[str]:
    from console_app.providers import list_models

    try:
        async with asyncio.timeout(PATIENCE):
            return await list_models(config)
    except TimeoutError:
        raise errors.ProviderError(f"{config.name}: no list of models within {PATIENCE:g} s") from None


class Models:
    def __init__(
        self, engine: Engine, source: ConfiguredModels | None = None, choice: ModelChoice | None = None
    ) -> None:
        """`choice` is what `engine` answers with now. Without a source no other model can be chosen."""
        self._engine = engine
        self._source = source
        self.choice = choice
        self.silent: Sequence[str] = ()
        self._window: int | None = None  # of the one that was chosen
        self._closing: set[asyncio.Task[None]] = set()
        engine.window = lambda: self.window

    @property
    def name(self) -> str:
        """Return `PROVIDER/MODEL` of the model that answers; "" while the endpoint is still to be asked for one."""
        provider = self._engine.provider
        return f"{provider.name}/{provider.model}" if provider.model else ""

    @property
    def window(self) -> int | None:
        other = self._engine.provider.stand_in
        return self._window if other is None else other.window

    @window.setter
    def window(self, tokens: int | None) -> None:
        self._window = tokens

    @property
    def host(self) -> str:
        if (other := self._engine.provider.stand_in) is not None:
            return other.host
        return self.choice.host if self.choice is not None else ""

    async def load(self, *, window: bool = True) -> None:
        """Import what the first request needs and, with `window`, look that up. A choice without a model gets one of
        its endpoint's. Raises FanoutError."""
        source, choice = self._source, self.choice
        if source is None or choice is None:
            return
        await asyncio.to_thread(source.load, choice)
        tokens = await asyncio.to_thread(source.window, choice) if window else None
        if self.choice is choice:  # none was picked meanwhile
            self.window = tokens
        named = await source.named(choice)
        if named is not choice and self.choice is choice:
            await self._use(source, named)

    def warm_up(self) -> None:
        choice = self.choice
        if choice is None or choice.provider == OFFLINE or choice.agent or choice.settings.protocol == "native":
            return
        from console_app.providers import load_reading
        from console_app.textcalls import ToolSignature, parse

        load_reading()
        parse(_ANSWER, [ToolSignature("f", {})], chunk=8)

    async def switch(self, name: str) -> None:
        if self._source is None:
            raise UsageError("no other model can answer here")
        await self._use(self._source, self._source.choose(name))

    async def connect(self, source: ConfiguredModels, name: str) -> None:
        """Take models from `source` from now on, and have its `name` answer. Raises FanoutError as `switch` does."""
        await self._use(source, source.choose(name))
        self._source = source

    def takes(self, effort: Effort) -> bool:
        """Tell whether the model takes this effort: not where it knows none, or its endpoint refused this one."""
        return bool(self._engine.provider.effort_for(effort))

    def use_effort(self, effort: Effort | None) -> str:
        """Set the effort from the next answer on, None for the configured one; return a line on what came of it."""
        self._engine.settings = replace(self._engine.settings, effort=effort)
        if effort is None or self.takes(effort):
            return f"Effort: {effort or 'default'}, from the next answer on."
        return f"Effort: {effort}, for models that take it: {one_line(self._engine.provider.model, 40)} doesn't."

    async def known(self) -> Sequence[str]:
        """Return `PROVIDER/MODEL` of all models, the answering one first; `silent` providers gave no list."""
        names, self.silent = await self._source.names() if self._source is not None else ((), ())
        return list(dict.fromkeys((*filter(None, [self.name]), *names)))

    async def _use(self, source: ConfiguredModels, choice: ModelChoice) -> None:
        provider, self.choice = source.open(choice), choice
        await asyncio.to_thread(source.load, choice)
        window = await asyncio.to_thread(source.window, choice)
        if self.choice is choice:
            provider, self._engine.provider, self.window = self._engine.provider, provider, window
        closing = asyncio.create_task(self._close(provider))
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)

    async def _close(self, provider: ports.Provider) -> None:
        if (activity := self._engine.activity) is not None:
            await asyncio.wait({activity.left})
        await provider.close()
