"""The settings a user can make: read in layers, shown, changed and written."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console_app.config.settings.layers import BrokenSettings as BrokenSettings
    from console_app.config.settings.layers import LayeredSettings as LayeredSettings
    from console_app.config.settings.layers import project_faults as project_faults
    from console_app.config.settings.layers import unknown_variables as unknown_variables
    from console_app.config.settings.model import ACP as ACP
    from console_app.config.settings.model import BUILT_IN as BUILT_IN
    from console_app.config.settings.model import OFFLINE as OFFLINE
    from console_app.config.settings.model import OFFLINE_MODEL as OFFLINE_MODEL
    from console_app.config.settings.model import SCRIPTED as SCRIPTED
    from console_app.config.settings.model import AgentSettings as AgentSettings
    from console_app.config.settings.model import ModelSettings as ModelSettings
    from console_app.config.settings.model import ProviderSettings as ProviderSettings
    from console_app.config.settings.model import Settings as Settings
    from console_app.config.settings.model import check_base_url as check_base_url
    from console_app.config.settings.model import vendor_of as vendor_of
    from console_app.config.settings.own_settings import MEANINGS as MEANINGS
    from console_app.config.settings.own_settings import OwnSettings as OwnSettings
    from console_app.config.settings.own_settings import Setting as Setting
    from console_app.config.settings.rules import RuleServers as RuleServers
    from console_app.config.settings.rules import UserRules as UserRules
    from console_app.config.settings.startup_settings import read_startup_settings as read_startup_settings
else:
    from console_app.door import door

    __getattr__ = door(__name__, __file__)
