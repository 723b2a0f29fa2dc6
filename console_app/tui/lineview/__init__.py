"""The conversation: one Line-API view over plain blocks that paint themselves, made of the events of the domain."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console_app.tui.lineview.blocks.block import Block as Block
    from console_app.tui.lineview.blocks.messages import AssistantBlock as AssistantBlock
    from console_app.tui.lineview.blocks.messages import UserBlock as UserBlock
    from console_app.tui.lineview.calls.block import CallBlock as CallBlock
    from console_app.tui.lineview.calls.group import brief_of as brief_of
    from console_app.tui.lineview.calls.row import TellingCalls as TellingCalls
    from console_app.tui.lineview.calls.row import state_style as state_style
    from console_app.tui.lineview.calls.tally import TellingApart as TellingApart
    from console_app.tui.lineview.event_router import EventRouter as EventRouter
    from console_app.tui.lineview.markdown.units import parser as parser
    from console_app.tui.lineview.results.body import ResultBody as ResultBody
    from console_app.tui.lineview.results.kind import use_first as use_first
    from console_app.tui.lineview.scrolling.finder import Finder as Finder
    from console_app.tui.lineview.text.json_view import brief_arguments as brief_arguments
    from console_app.tui.lineview.view import ConversationView as ConversationView
    from console_app.tui.lineview.wording import spinner as spinner
    from console_app.tui.lineview.wording import state_of as state_of
else:
    from console_app.door import door

    __getattr__ = door(__name__, __file__)
