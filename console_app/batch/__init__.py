"""A batch without a face: items made of files, run on an engine, their results kept, and what is told of them."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console_app.batch.items import ItemPlan as ItemPlan
    from console_app.batch.local_engine import CLOSING as CLOSING
    from console_app.batch.local_engine import LocalEngine as LocalEngine
    from console_app.batch.local_engine import TextStream as TextStream
    from console_app.batch.local_engine import noted_nowhere as noted_nowhere
    from console_app.batch.run import BatchEngine as BatchEngine
    from console_app.batch.run import KnownRuns as KnownRuns
    from console_app.batch.run import Limits as Limits
    from console_app.batch.run import RunFiles as RunFiles
    from console_app.batch.run import Telling as Telling
    from console_app.batch.turn_worker import EventFiles as EventFiles
    from console_app.batch.turn_worker import SharedModels as SharedModels
    from console_app.batch.turn_worker import TurnWorker as TurnWorker
else:
    from console_app.door import door

    __getattr__ = door(__name__, __file__)
