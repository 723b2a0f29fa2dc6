"""The engine: one turn at a time, its answer read, its calls run, its history kept valid. No terminal, no SDK."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console_app.engine.activity import Activity as Activity
    from console_app.engine.calls.approval_gate import Action as Action
    from console_app.engine.calls.approval_gate import ApprovalGate as ApprovalGate
    from console_app.engine.calls.approval_gate import OtherServer as OtherServer
    from console_app.engine.calls.approval_gate import Rule as Rule
    from console_app.engine.calls.approval_gate import RuleBindings as RuleBindings
    from console_app.engine.calls.approval_gate import RuleKey as RuleKey
    from console_app.engine.calls.approval_gate import Unwritten as Unwritten
    from console_app.engine.calls.slots import Slots as Slots
    from console_app.engine.compaction import Compacting as Compacting
    from console_app.engine.context import LEFT_OUT as LEFT_OUT
    from console_app.engine.engine import Engine as Engine
    from console_app.engine.execution.builtin_specs import ENABLE as ENABLE
    from console_app.engine.execution.builtin_specs import QUESTION as QUESTION
    from console_app.engine.manual_calls import ManualCall as ManualCall
    from console_app.engine.manual_calls import ManualCallsProvider as ManualCallsProvider
    from console_app.engine.manual_calls import find_tools as find_tools
    from console_app.engine.rerun import Rerun as Rerun
    from console_app.engine.turn import Turn as Turn
    from console_app.engine.turn import as_message as as_message
else:
    from console_app.door import door

    __getattr__ = door(__name__, __file__)
