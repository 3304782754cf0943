"""What requests and answers look like: shown in the OpenAPI document and on the page of the API."""

from typing import Any

from drf_spectacular.utils import OpenApiExample

_ID = "6f1f6a52-5f0a-4a2e-9d0c-3f6f4c1f7a11"
_WEBHOOK = "0b0e6c1e-9e0b-4c3d-8f6f-6a3b8f2f5d20"
_TIME = "2026-01-31T12:00:00Z"


def sent(title: str, value: Any) -> OpenApiExample:
    """An example of a body that is sent."""
    return OpenApiExample(title, value=value, request_only=True)


def answered(title: str, value: Any, *status: str) -> OpenApiExample:
    """An example of an answer, of those with ``status`` if any are named."""
    codes = list(status) or None
    return OpenApiExample(title, value=value, response_only=True, status_codes=codes)


QUEUED = {
    "id": _ID,
    "state": "queued",
    "name": "model-Q4_K_M.gguf",
    "source": {
        "kind": "url",
        "locator": "https://host.example/model-Q4_K_M.gguf",
        "upload": None,
    },
    "profile": "publish",
    "depth": "header",
    "policy": {},
    "stage": "",
    "reads": {"requests": 0, "bytes": 0},
    "reused": False,
    "size": None,
    "needs": None,
    "error": None,
    "report": None,
    "created": _TIME,
    "started": None,
    "finished": None,
}
DONE = QUEUED | {
    "state": "done",
    "reads": {"requests": 2, "bytes": 1_179_648},
    "size": 4_920_734_272,
    "report": {
        "verdict": "warn",
        "kind": "model",
        "errors": 0,
        "warnings": 1,
        "infos": 2,
        "architecture": "llama",
        "quant": "Q4_K - Medium",
        "parameters": 8_030_261_312,
    },
    "started": _TIME,
    "finished": "2026-01-31T12:00:01Z",
}
REUSED = DONE | {"reused": True, "reads": {"requests": 1, "bytes": 1}}

SUBMITTED = [
    sent("A link", {"source": "https://host.example/model.gguf"}),
    sent(
        "A file of a repository, with its digest",
        {
            "source": "hf://org/repository/model-Q4_K_M.gguf",
            "profile": "publish",
            "expected": {"sha256": "0" * 64},
        },
    ),
    answered("Queued", QUEUED, "202"),
    answered("The file is still the same", REUSED, "200"),
]
FOLLOWED = [answered("Done", DONE)]

METADATA = [
    answered(
        "Two keys",
        {
            "total": 2,
            "start": 0,
            "items": [
                {
                    "key": "general.architecture",
                    "type": "string",
                    "value": "llama",
                    "offset": 24,
                    "length": 45,
                },
                {
                    "key": "tokenizer.ggml.tokens",
                    "type": "array[string]",
                    "value": {"count": 128_256, "first": ["!", '"', "#"]},
                    "offset": 1_024,
                    "length": 2_166_110,
                },
            ],
        },
    )
]
ARRAY = [
    answered(
        "A search",
        {
            "key": "tokenizer.ggml.tokens",
            "type": "array[string]",
            "count": 128_256,
            "total": 1,
            "start": 0,
            "items": [[15_339, "hello"]],
        },
    )
]
TENSORS = [
    answered(
        "One tensor",
        {
            "total": 1,
            "start": 0,
            "items": [
                {
                    "name": "blk.0.attn_q.weight",
                    "shape": [4_096, 4_096],
                    "type": "Q4_K",
                    "offset": 0,
                    "bytes": 9_437_184,
                    "elements": 16_777_216,
                    "block": 0,
                    "role": "attn_q.weight",
                    "place": {"offset": 7_820_000, "length": 60},
                }
            ],
        },
    )
]

TOKEN = [sent("For a pipeline", {"name": "release", "scopes": ["submit"], "days": 90})]

WEBHOOK = {"id": _WEBHOOK, "url": "https://ci.example/hooks/models", "created": _TIME}
SECRET = WEBHOOK | {"secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}
PINGED = {
    "id": "msg_0c2f1d0f4c5e4a0f9d0e3b7f1a2b3c4d",
    "inspection": None,
    "state": "pending",
    "attempts": 0,
    "status": None,
    "error": "",
    "created": _TIME,
    "next_at": _TIME,
    "delivered": None,
}
RECEIVER = [
    sent("A receiver", {"url": "https://ci.example/hooks/models"}),
    answered("Its secret", SECRET, "201"),
]
ROTATED = [answered("The new secret", SECRET)]
PING = [answered("On its way", PINGED)]
