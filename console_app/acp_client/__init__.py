"""Anyone's agents over the Agent Client Protocol, version 1: programs that do a task as an agent of ours would."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console_app.acp_client.engine import AcpEngine as AcpEngine
    from console_app.acp_client.engine import AgentProgram as AgentProgram
else:
    from console_app.door import door

    __getattr__ = door(__name__, __file__)
