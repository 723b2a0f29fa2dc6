"""Models behind APIs: each turns its wire format into chunks. The openai and anthropic SDKs stop here."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console_app.providers.catalog import context_window as context_window
    from console_app.providers.catalog import cost as cost
    from console_app.providers.endpoint.rate_limiter import EndpointLimits as EndpointLimits
    from console_app.providers.factory import WithFallback as WithFallback
    from console_app.providers.factory import list_models as list_models
    from console_app.providers.factory import open_provider as open_provider
    from console_app.providers.factory import preload as preload
    from console_app.providers.offline.answer import OfflineProvider as OfflineProvider
    from console_app.providers.probing import COST as COST
    from console_app.providers.probing import probe as probe
    from console_app.providers.scripted import ScriptedProvider as ScriptedProvider
    from console_app.providers.text_protocol.forms import checked_dialect as checked_dialect
    from console_app.providers.text_protocol.forms import level_of as level_of
    from console_app.providers.text_protocol.forms import usual_dialect as usual_dialect
    from console_app.providers.text_protocol.provider import TextProtocol as TextProtocol
    from console_app.providers.wire_provider import load_reading as load_reading
else:
    from console_app.door import door

    __getattr__ = door(__name__, __file__)
