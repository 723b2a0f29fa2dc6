"""The console in a browser: each page has a console of its own on a pseudo-terminal, guarded as in any terminal."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console_app.web.door import LEAST_DIFFERENT as LEAST_DIFFERENT
    from console_app.web.door import LEAST_TOKEN as LEAST_TOKEN
    from console_app.web.door import origin_of as origin_of
    from console_app.web.server import ServeOptions as ServeOptions
    from console_app.web.server import serve as serve
else:
    from console_app.door import door

    __getattr__ = door(__name__, __file__)
