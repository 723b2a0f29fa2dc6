"""The colours of what a waiting call may do (`domain.risk`)."""

from __future__ import annotations

from collections.abc import Mapping

from console_app.domain.tools import RiskWord

RISK_COLOURS: Mapping[RiskWord, str] = {
    "reads": "$success",
    "changes": "$warning",
    "may destroy": "bold $error",
    "network": "$accent",
    "unknown": "$warning",
}
WORD = max(map(len, RISK_COLOURS))  # cells of the longest word
