"""The forms in which other programs keep things for agents: read as they are, believed by nobody before `trust`."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console_app.config.foreign.agents import AgentFile as AgentFile
    from console_app.config.foreign.finding import Findings as Findings
    from console_app.config.foreign.finding import Foreign as Foreign
    from console_app.config.foreign.finding import Instructions as Instructions
    from console_app.config.foreign.finding import of_project as of_project
    from console_app.config.foreign.finding import of_user as of_user
    from console_app.config.foreign.hook_files import Hook as Hook
    from console_app.config.foreign.hook_files import HookFile as HookFile
    from console_app.config.foreign.hook_files import hooks_of as hooks_of
    from console_app.config.foreign.skills import Plugin as Plugin
    from console_app.config.foreign.skills import Skill as Skill
    from console_app.config.foreign.tree import FrontMatter as FrontMatter
    from console_app.config.foreign.tree import Tree as Tree
else:
    from console_app.door import door

    __getattr__ = door(__name__, __file__)
