"""Stored conversations: kept, opened, found, forked, exported, replayed and repaired."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console_app.sessions.database import SessionLock as SessionLock
    from console_app.sessions.drafts import PromptDraft as PromptDraft
    from console_app.sessions.drafts import PromptDrafts as PromptDrafts
    from console_app.sessions.library import Library as Library
    from console_app.sessions.library import Opened as Opened
    from console_app.sessions.library import Replay as Replay
    from console_app.sessions.library import SessionInUse as SessionInUse
    from console_app.sessions.recent import Recent as Recent
    from console_app.sessions.recorder import Recorder as Recorder
    from console_app.sessions.repair import ForkPoint as ForkPoint
    from console_app.sessions.store import NoSuchSession as NoSuchSession
    from console_app.sessions.store import SearchHit as SearchHit
    from console_app.sessions.store import Store as Store
    from console_app.sessions.tables import Hit as Hit
    from console_app.sessions.tables import SessionInfo as SessionInfo
else:
    from console_app.door import door

    __getattr__ = door(__name__, __file__)
