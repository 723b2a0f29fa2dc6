"""Two questions about a call: whether it quotes what the model was given, and whether others dictated it there."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console_app.textcalls.provenance.given import GivenText as GivenText
    from console_app.textcalls.provenance.questions import Provenance as Provenance
else:
    from console_app.door import door

    __getattr__ = door(__name__, __file__)
