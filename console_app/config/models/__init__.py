"""Models: the one that answers, how it is reached, and what was learnt of it."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console_app.config.models.known_models import KnownDialects as KnownDialects
    from console_app.config.models.known_models import KnownEndpoints as KnownEndpoints
    from console_app.config.models.known_models import KnownRefusals as KnownRefusals
    from console_app.config.models.known_models import Refusals as Refusals
    from console_app.config.models.model_choice import ModelChoice as ModelChoice
    from console_app.config.models.model_choice import TypedEndpoint as TypedEndpoint
    from console_app.config.models.model_choice import choose_model as choose_model
else:
    from console_app.door import door

    __getattr__ = door(__name__, __file__)
