"""This process on this machine: its log and crash reports, other processes, the user's browser, optional packages."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console_app.config.machine.browser import BrowserPage as BrowserPage
    from console_app.config.machine.browser import start_browser as start_browser
    from console_app.config.machine.log_setup import log_to as log_to
    from console_app.config.machine.log_setup import write_report as write_report
    from console_app.config.machine.processes import process_runs as process_runs
else:
    from console_app.door import door

    __getattr__ = door(__name__, __file__)
