"""All that a project brings waits here until the user trusts it."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console_app.config.trust.custom_commands import AgentFile as AgentFile
    from console_app.config.trust.custom_commands import Brought as Brought
    from console_app.config.trust.custom_commands import CustomCommand as CustomCommand
    from console_app.config.trust.custom_commands import CustomCommands as CustomCommands
    from console_app.config.trust.custom_commands import Hook as Hook
    from console_app.config.trust.custom_commands import hooks_of as hooks_of
    from console_app.config.trust.trust_report import Changes as Changes
    from console_app.config.trust.trust_report import FileToTrust as FileToTrust
    from console_app.config.trust.trust_report import ProjectTrust as ProjectTrust
    from console_app.config.trust.trust_report import ServerFiles as ServerFiles
    from console_app.config.trust.trust_report import Untrusted as Untrusted
else:
    from console_app.door import door

    __getattr__ = door(__name__, __file__)
