"""Anyone's agents over the Agent Client Protocol, version 1: programs that do a task as an agent of ours would."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console_app.acp_client.model import AcpModel as AcpModel
    from console_app.acp_client.model import agent_programs as agent_programs
    from console_app.acp_client.registry import ListedAgent as ListedAgent
    from console_app.acp_client.registry import agent_named as agent_named
    from console_app.acp_client.registry import listed_agents as listed_agents
    from console_app.acp_client.session import AgentProgram as AgentProgram
else:
    from console_app.door import door

    __getattr__ = door(__name__, __file__)
