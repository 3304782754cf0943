"""A model registry on loopback: manifests, blobs on another host, tokens from a realm."""

import hashlib
import json
from typing import Any, Self

from ggufhub.sources.oci_names import parse_oci_name
from ggufhub.sources.registry import RegistrySource
from ggufhub.sources.registry_names import parse_registry_name
from tests.core.httpkit import SMALL
from tests.core.rangeserver import LOOPBACK, Behaviour, Handler, RangeServer, fixed

IMAGE = "application/vnd.ollama.image."
DOCKER = "application/vnd.docker.ai."
OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
OCI_INDEX = "application/vnd.oci.image.index.v1+json"


class FakeRegistry:
    """Serves one model: ``layers`` are pairs of a media type and the bytes.

    ``token`` makes it ask for one, from ``realm`` (its own unless given).
    """

    def __init__(
        self,
        layers: list[tuple[str, bytes]],
        *,
        repository: str = "library/tiny",
        token: str = "",
        realm: str = "",
    ) -> None:
        self.registry = RangeServer()
        self.cdn = RangeServer()
        self.token = token
        self.realm = realm
        self.manifest: dict[str, Any] = {
            "schemaVersion": 2,
            "mediaType": "application/vnd.docker.distribution.manifest.v2+json",
            "layers": [self.layer(kind, data) for kind, data in layers],
        }
        self.manifest_headers: dict[str, str] = {}
        prefix = self._prefix = f"v2/{repository}"
        routes: dict[str, Behaviour] = {
            f"{prefix}/manifests/latest": self._answer_manifest,
        }
        for _, data in layers:
            digest = _digest(data)
            self.cdn.files[digest] = data
            routes[f"{prefix}/blobs/sha256:{digest}"] = self._redirect(digest)
        self.registry.behaviours = {name: self._guarded(route) for name, route in routes.items()}
        self.registry.behaviours["token"] = self._answer_token

    def __enter__(self) -> Self:
        self.registry.__enter__()
        self.cdn.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self.registry.__exit__(*error)
        self.cdn.__exit__(*error)

    @property
    def base(self) -> str:
        return self.registry.url("").rstrip("/")

    def open(self, text: str = "ollama://tiny") -> RegistrySource:
        """The source of ``text``, in which HOST stands for this registry."""
        text = text.replace("HOST", self.base.partition("://")[2])
        name = parse_oci_name(text, self.base) or parse_registry_name(text, self.base)
        assert name is not None
        return RegistrySource(name, policy=LOOPBACK, limits=SMALL)

    def put(self, manifest: Any, media_type: str = OCI_MANIFEST, **extra: Any) -> dict[str, Any]:
        """Serve ``manifest`` under its digest; the entry for it in an index."""
        data = json.dumps(manifest).encode()
        place = f"{self._prefix}/manifests/sha256:{_digest(data)}"
        self.registry.behaviours[place] = self._guarded(fixed(200, data))
        return {**self.layer(media_type, data), **extra}

    def layer(self, media_type: str, data: bytes) -> dict[str, Any]:
        return {"mediaType": media_type, "digest": f"sha256:{_digest(data)}", "size": len(data)}

    def _guarded(self, route: Behaviour) -> Behaviour:
        def serve(handler: Handler, data: bytes) -> None:
            if self.token and handler.headers.get("Authorization") != f"Bearer {self.token}":
                realm = self.realm or f"{self.base}/token"
                scope = "repository:library/tiny:pull"
                challenge = f'Bearer realm="{realm}",service="registry",scope="{scope}"'
                handler.answer(401, **{"WWW-Authenticate": challenge})
            else:
                route(handler, data)

        return serve

    def _answer_manifest(self, handler: Handler, data: bytes) -> None:
        handler.answer(200, json.dumps(self.manifest).encode(), **self.manifest_headers)

    def _answer_token(self, handler: Handler, data: bytes) -> None:
        handler.answer(200, json.dumps({"token": self.token}).encode())

    def _redirect(self, digest: str) -> Behaviour:
        def serve(handler: Handler, data: bytes) -> None:
            handler.answer(307, b"moved", Location=f"{self.cdn.url(digest)}?sig=1")

        self.cdn.behaviours[digest] = _deliver
        return serve


def _deliver(handler: Handler, data: bytes) -> None:
    if "Range" in handler.headers:
        handler.serve(data)
    else:
        handler.answer(200, data)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
