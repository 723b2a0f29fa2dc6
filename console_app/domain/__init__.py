"""The nouns of the program, without input or output. Nouns that all rooms speak of stand in this door; the rest is
named with its module: `ev.CallReady`."""

TYPE_CHECKING = False  # type checkers know the name; --version waits for no import of typing
if TYPE_CHECKING:
    from console_app.domain.amounts import plural as plural
    from console_app.domain.approvals import ApprovalMode as ApprovalMode
    from console_app.domain.approvals import CallPolicy as CallPolicy
    from console_app.domain.errors import ConfigError as ConfigError
    from console_app.domain.errors import FanoutError as FanoutError
    from console_app.domain.errors import UsageError as UsageError
    from console_app.domain.events import Decision as Decision
    from console_app.domain.events import Event as Event
    from console_app.domain.events import Level as Level
    from console_app.domain.messages import AssistantMessage as AssistantMessage
    from console_app.domain.messages import Attachment as Attachment
    from console_app.domain.messages import Message as Message
    from console_app.domain.messages import Reasoning as Reasoning
    from console_app.domain.messages import ThoughtLabel as ThoughtLabel
    from console_app.domain.messages import ToolMessage as ToolMessage
    from console_app.domain.messages import UserMessage as UserMessage
    from console_app.domain.safe_text import one_line as one_line
    from console_app.domain.safe_text import visible as visible
    from console_app.domain.tools import Artifact as Artifact
    from console_app.domain.tools import CallState as CallState
    from console_app.domain.tools import Outcome as Outcome
    from console_app.domain.tools import ToolCall as ToolCall
    from console_app.domain.tools import ToolResult as ToolResult
    from console_app.domain.tools import ToolSpec as ToolSpec
else:
    from console_app.door import door

    __getattr__ = door(__name__, __file__)
