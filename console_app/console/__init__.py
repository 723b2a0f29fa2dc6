"""The whole program without a face: `Console` and the records that it is given and gives. No Textual here."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console_app.console.activity import Doing as Doing
    from console_app.console.connecting import Connecting as Connecting
    from console_app.console.connecting import Listing as Listing
    from console_app.console.console import Console as Console
    from console_app.console.models import ConfiguredModels as ConfiguredModels
    from console_app.console.models import Models as Models
    from console_app.console.pending import Pending as Pending
    from console_app.console.permissions import ApprovalDecision as ApprovalDecision
    from console_app.console.permissions import PermissionRow as PermissionRow
    from console_app.console.permissions import Permissions as Permissions
    from console_app.console.permissions import Scope as Scope
    from console_app.console.services import AttentionSettings as AttentionSettings
    from console_app.console.services import Later as Later
    from console_app.console.services import Services as Services
    from console_app.console.services import Timers as Timers
    from console_app.console.services import Timing as Timing
    from console_app.console.talk.conversation import Around as Around
    from console_app.console.talk.conversation import Conversation as Conversation
    from console_app.console.talk.question_queue import PendingQuestion as PendingQuestion
    from console_app.console.talk.question_queue import QuestionQueue as QuestionQueue
    from console_app.console.talk.question_queue import Reply as Reply
    from console_app.console.talk.sessions import READ_ONLY as READ_ONLY
    from console_app.console.talk.sessions import Disk as Disk
    from console_app.console.talk.sessions import full_looks as full_looks
    from console_app.console.ui_port import UiPort as UiPort
else:
    from console_app.door import door

    __getattr__ = door(__name__, __file__)
