"""Reports: texts about calls, requests and costs; `copies` and `wire_text` are rooms beside the door."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console_app.console.reports.call_report import call_text as call_text
    from console_app.console.reports.call_report import log_lines as log_lines
    from console_app.console.reports.call_report import tail as tail
else:
    from console_app.door import door

    __getattr__ = door(__name__, __file__)
