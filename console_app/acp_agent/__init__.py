"""Fanout as an agent of the Agent Client Protocol: conversations that editors hold, over standard input and output."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console_app.acp_agent.agent import EditorAgent as EditorAgent
    from console_app.acp_agent.session import SessionParts as SessionParts
else:
    from console_app.door import door

    __getattr__ = door(__name__, __file__)
