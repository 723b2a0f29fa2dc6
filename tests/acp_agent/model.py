"""A model's endpoint that answers by what it is asked: each conversation has answers of its own."""

from __future__ import annotations

from tests.wire_server import Reply, Request, Scripted


class Model:
    """`answers` are told apart by words of the prompt; what is asked for models lists two."""

    def __init__(self) -> None:
        self.answers: dict[str, list[Scripted]] = {}
        self.bodies: list[dict[str, object]] = []

    def __call__(self, request: Request) -> Scripted:
        if request.path.endswith("/models"):
            return Reply.json({"data": [{"id": "test-model"}, {"id": "other"}]})
        text = request.raw.decode()
        self.bodies.append(request.body)
        return next(queue for words, queue in self.answers.items() if words in text and queue).pop(0)
