"""Servers as a user has them: switched on and off, watched, pinged, and named in commands."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console_app.console.servers.news import Pings as Pings
    from console_app.console.servers.news import Watching as Watching
    from console_app.console.servers.switches import HubSwitches as HubSwitches
    from console_app.console.servers.switches import Offered as Offered
    from console_app.console.servers.switches import facts_of as facts_of
    from console_app.console.servers.switches import facts_of_tool as facts_of_tool
else:
    from console_app.door import door

    __getattr__ = door(__name__, __file__)
