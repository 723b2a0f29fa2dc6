"""The four usual programs that serve a model on this machine are imitated byte by byte."""

from __future__ import annotations

from tests.wire_bytes import Answer, Text
from tests.wire_server import Handler, Reply, Request

MODELS = {
    "ollama": {
        "object": "list",
        "data": [{"id": "llama3.2:latest", "object": "model", "created": 1731000000, "owned_by": "library"}],
    },
    "lm-studio": {
        "data": [
            {"id": "text-embedding-nomic-embed-text-v1.5", "object": "model", "owned_by": "organization_owner"},
            {"id": "qwen2.5-7b-instruct", "object": "model", "owned_by": "organization_owner"},
        ],
        "object": "list",
    },
    "vllm": {
        "object": "list",
        "data": [
            {
                "id": "Qwen/Qwen2.5-1.5B-Instruct",
                "object": "model",
                "created": 1731000000,
                "owned_by": "vllm",
                "root": "Qwen/Qwen2.5-1.5B-Instruct",
                "parent": None,
                "max_model_len": 32768,
                "permission": [{"id": "modelperm-1", "object": "model_permission", "allow_sampling": True}],
            }
        ],
    },
    "llama-cpp": {
        "models": [{"name": "tiny.gguf", "model": "tiny.gguf", "capabilities": ["completion"]}],
        "object": "list",
        "data": [{"id": "tiny.gguf", "object": "model", "owned_by": "llamacpp", "meta": {"n_ctx_train": 2048}}],
    },
}
ELSEWHERE = {
    "ollama": Reply([b"404 page not found"], 404, {}, "text/plain", "length"),
    "lm-studio": Reply.json({"error": "Unexpected endpoint or method. (GET /models)"}),
    "vllm": Reply.json({"detail": "Not Found"}, 404),
    "llama-cpp": Reply.json({"error": {"code": 404, "message": "File Not Found", "type": "not_found_error"}}, 404),
}


def endpoint(kind: str, *, key: str = "", word: str = "ready") -> Handler:
    """A server of that kind, which asks for `key` where one is given and answers any question with `word`."""

    def answer(request: Request) -> Reply | Answer:
        if key and request.headers.get("authorization") != f"Bearer {key}":
            return Reply.json({"error": {"message": "Invalid API key", "code": "invalid_api_key"}}, 401)
        if request.path == "/v1/models":
            return Reply.json(MODELS[kind])
        if request.path == "/v1/chat/completions":
            return Answer(Text(word))
        return ELSEWHERE[kind]

    return answer
