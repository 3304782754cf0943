"""RegistrySource: the model layer of a manifest in an Ollama or OCI registry."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode, urljoin

from ggufhub import __version__
from ggufhub.errors import SourceError
from ggufhub.limits import KIB, Limits
from ggufhub.sources import answers
from ggufhub.sources.api import Answer, Api
from ggufhub.sources.base import ByteSource, Digest, Layer
from ggufhub.sources.dial import Dialer
from ggufhub.sources.http import Declared, HttpSource
from ggufhub.sources.policy import AddressPolicy
from ggufhub.sources.registry_names import RegistryName
from ggufhub.sources.resolved import ResolvedSource

REDIRECTS = 10
"""Registries pass blobs through more hosts than hubs do."""

LAYER_BYTES = 256 * KIB
"""The longest licence seen is 30 KB."""

MOST_TEXTS = 8
"""Text layers read; each costs a request."""

MOST_LAYERS = 200

MANIFEST_TYPES = (
    "application/vnd.docker.distribution.manifest.v2+json",
    "application/vnd.oci.image.manifest.v1+json",
)
MODEL_TYPES = frozenset({"application/vnd.ollama.image.model", "application/vnd.docker.ai.gguf.v3"})
TEXT_KINDS = ("template", "prompt", "system", "params", "license", "messages")

TRUSTED_REALMS = {"registry-1.docker.io": "auth.docker.io"}
"""Registries whose tokens come from another host that belongs to them."""

_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")
_CHALLENGE = re.compile(r'\b(realm|service|scope)="([^"]*)"')


class RegistrySource(ResolvedSource):
    """A model in a registry; the layers shipped with it are in its identity.

    Blobs are addressed by their SHA-256, so the manifest's digest is both the name of the bytes
    and a claim about them.
    """

    def __init__(
        self,
        name: RegistryName,
        *,
        policy: AddressPolicy,
        limits: Limits | None = None,
        dialer: Dialer | None = None,
    ) -> None:
        super().__init__(name.locator)
        self._name = name
        self._policy = policy
        self._limits = replace(limits or Limits(), redirects=REDIRECTS)
        self._dialer = dialer or Dialer(policy)

    def sibling(self, name: str) -> ByteSource:
        raise SourceError("not_found", "A registry keeps no other files beside a model.")

    def _resolve(self) -> HttpSource:
        name = self._name
        # The registry answers 412 to programs it does not know for models it holds too new.
        headers = {"User-Agent": f"ollama/0.12.0 ggufhub/{__version__}"}
        api = self._api(name.base, headers)
        try:
            place = f"/v2/{name.repository}/manifests/{name.reference}"
            answer = api.get(place, ", ".join(MANIFEST_TYPES))
            if answer.status == 401:
                headers["Authorization"] = f"Bearer {self._token(answer)}"
                api.close()
                api = self._api(name.base, headers)
                answer = api.get(place, ", ".join(MANIFEST_TYPES))
            layers = _layers(answer.good().json())
            model = _model_layer(layers)
            others = tuple(self._others(api, layers, model))
        finally:
            api.close()
        return self._http(model, others, headers)

    def _api(self, base: str, headers: Mapping[str, str]) -> Api:
        return Api(
            base,
            policy=self._policy,
            limits=self._limits,
            dialer=self._dialer,
            reads=self.reads,
            headers=headers,
        )

    def _http(
        self, model: Layer, others: tuple[Layer, ...], headers: Mapping[str, str]
    ) -> HttpSource:
        name = self._name
        assert model.digest is not None
        return HttpSource(
            urljoin(name.base, self._blob(model)),
            policy=self._policy,
            limits=self._limits,
            headers=headers,
            dialer=self._dialer,
            declared=Declared(
                locator=name.locator,
                name=f"{name.model}:{name.reference}",
                size=model.size,
                digests=(Digest("sha256", model.digest, "declared by registry"),),
                notes=(f"The model is blob sha256:{model.digest} of {name.locator}.",),
                layers=others,
            ),
            reads=self.reads,
        )

    def _blob(self, layer: Layer) -> str:
        return f"/v2/{self._name.repository}/blobs/sha256:{layer.digest}"

    def _others(self, api: Api, layers: list[Layer], model: Layer) -> list[Layer]:
        """The layers beside the model, short texts with their content."""
        others = []
        texts = 0
        for layer in layers:
            if layer is model:
                continue
            if layer.kind in TEXT_KINDS and layer.size <= LAYER_BYTES and texts < MOST_TEXTS:
                texts += 1
                layer = self._with_text(api, layer)
            others.append(layer)
        return others

    def _with_text(self, api: Api, layer: Layer) -> Layer:
        body = api.get(self._blob(layer), most=LAYER_BYTES).good().body
        try:
            text = body.decode("utf-8")
        except UnicodeDecodeError:
            text = None
        return replace(layer, text=text, computed=hashlib.sha256(body).hexdigest())

    def _token(self, answer: Answer) -> str:
        """A token for anonymous reading, from the realm that the registry names.

        A realm on another host would learn what is read, and could answer in the registry's
        place; only the registry's own host is asked.
        """
        known = dict(_CHALLENGE.findall(answer.headers.get("WWW-Authenticate") or ""))
        if "realm" not in known:
            raise answers.refusal(401, answer.headers)
        registry = self._policy.parse(self._name.base)
        realm = self._policy.parse(known.pop("realm"))
        trusted = replace(registry, host=TRUSTED_REALMS.get(registry.host, registry.host))
        if realm.origin != trusted.origin:
            raise SourceError("realm", "The registry sends us to another host for a token.")
        api = self._api(realm.url, {})
        try:
            query = urlencode(known)
            document = api.get(realm.path + (f"?{query}" if query else "")).good().json()
        finally:
            api.close()
        token = None
        if isinstance(document, dict):
            token = document.get("token") or document.get("access_token")
        if not isinstance(token, str) or not re.fullmatch(r"[\x21-\x7e]{1,8192}", token):
            raise SourceError("bad_answer", "The registry's realm gives no token.")
        return token


def _layers(manifest: Any) -> list[Layer]:
    entries = manifest.get("layers") if isinstance(manifest, dict) else None
    if not isinstance(entries, list) or len(entries) > MOST_LAYERS:
        raise SourceError("bad_answer", "The registry's manifest lists no layers.")
    return [_layer(entry) for entry in entries]


def _layer(entry: Any) -> Layer:
    fields = entry if isinstance(entry, dict) else {}
    media_type, size = fields.get("mediaType"), fields.get("size")
    digest = _DIGEST.fullmatch(str(fields.get("digest")))
    if not isinstance(media_type, str) or not isinstance(size, int) or size < 0 or digest is None:
        raise SourceError("bad_answer", "A layer in the registry's manifest is not valid.")
    return Layer(_kind(media_type), media_type, digest[1], size)


def _kind(media_type: str) -> str:
    """``template`` for ``application/vnd.ollama.image.template``."""
    if media_type in MODEL_TYPES:
        return "model"
    words = re.split(r"[./+]", media_type)
    return next((word for word in TEXT_KINDS if word in words), words[-1])


def _model_layer(layers: list[Layer]) -> Layer:
    for layer in layers:
        if layer.kind == "model":
            return layer
    if any(layer.kind == "tensor" for layer in layers):
        message = "The registry holds this model as single tensors, not as a GGUF file."
        raise SourceError("not_gguf", message)
    raise SourceError("not_gguf", "The registry's manifest holds no GGUF layer.")
