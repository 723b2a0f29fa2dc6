"""A conversation or a batch as one page of HTML, which is alive by itself and fetches nothing."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console_app.page.batch import write_batch as write_batch
    from console_app.page.conversation import of_conversation as of_conversation
    from console_app.page.live import LivePage as LivePage
else:
    from console_app.door import door

    __getattr__ = door(__name__, __file__)
