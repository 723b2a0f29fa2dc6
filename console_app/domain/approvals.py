"""What people can decide of a call that waits for them, and the modes that decide in their place."""

from __future__ import annotations

from enum import StrEnum


class Decision(StrEnum):
    """The answer to an approval request."""

    ALLOW = "allow"
    DENY = "deny"


class DecidedBy(StrEnum):
    """Who answered."""

    USER = "user"
    RULE = "rule"
    MODE = "mode"
    LIMIT = "limit"  # nobody could, or nobody did in time


class ApprovalMode(StrEnum):
    """`ask`: whatever no rule allows · `auto`: also runs what is known to be read-only · `plan`: runs only that, and
    denies the rest · `yolo`: runs everything."""

    ASK = "ask"
    AUTO = "auto"
    PLAN = "plan"
    YOLO = "yolo"


class CallPolicy(StrEnum):
    """How the calls of one answer run: all at once, one after the other, or only the first of them."""

    PARALLEL = "parallel"
    SEQUENTIAL = "sequential"
    SINGLE = "single"
