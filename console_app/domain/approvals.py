"""The modes that decide about calls in the place of people. The first paint needs them, so nothing is imported here."""

from __future__ import annotations

from enum import StrEnum


class ApprovalMode(StrEnum):
    """`ask`: whatever no rule allows · `auto`: also runs what is known to be read-only · `plan`: runs only that, and
    denies the rest · `yolo`: runs everything."""

    ASK = "ask"
    AUTO = "auto"
    PLAN = "plan"
    YOLO = "yolo"


class CallPolicy(StrEnum):
    """The order in which the calls of one answer run: all at once, one after the other, or only the first of them."""

    PARALLEL = "parallel"
    SEQUENTIAL = "sequential"
    SINGLE = "single"
