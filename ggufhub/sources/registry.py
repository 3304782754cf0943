"""RegistrySource: the model layer of a manifest in an Ollama or OCI registry."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import urlencode, urljoin

from ggufhub import __version__
from ggufhub.errors import SourceError
from ggufhub.limits import KIB, Limits
from ggufhub.sources import answers
from ggufhub.sources.api import Answer, Api
from ggufhub.sources.base import ByteSource, Digest, Layer
from ggufhub.sources.dial import Dialer
from ggufhub.sources.http import Declared, HttpSource, sibling_limits
from ggufhub.sources.manifest import (
    ACCEPT,
    MANIFEST_BYTES,
    TEXT_KINDS,
    Manifest,
    candidates,
    document,
    parse_manifest,
)
from ggufhub.sources.policy import AddressPolicy
from ggufhub.sources.registry_names import RegistryName
from ggufhub.sources.resolved import ResolvedSource

REDIRECTS = 10
"""Registries pass blobs through more hosts than hubs do."""

LAYER_BYTES = 256 * KIB
"""The longest licence seen is 30 KB."""

MOST_TEXTS = 8
"""Text layers read; each costs a request."""

TRUSTED_REALMS = {"registry-1.docker.io": "auth.docker.io"}
"""Registries whose tokens come from another host that belongs to them."""

_SHARD = re.compile(r"(.+)-[0-9]{5}-of-([0-9]{5})\.gguf")
_CHALLENGE = re.compile(r'\b(realm|service|scope)="([^"]*)"')


class RegistrySource(ResolvedSource):
    """A model in a registry; the layers shipped with it are in its identity.

    Blobs are addressed by their SHA-256, so the manifest's digest is both the name of the bytes
    and a claim about them. A model of several GGUF layers is read as the shards they are.
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
        self._headers: dict[str, str] = {}
        self._shards: dict[str, Layer] = {}

    def sibling(self, name: str) -> ByteSource:
        """Another shard, which is another layer. Makes its first request."""
        self._opened()
        if name not in self._shards:
            raise SourceError("not_found", "A registry keeps no other files beside a model.")
        return self._http(name, self._shards[name], sibling_limits(self._limits)).started()

    def _resolve(self) -> HttpSource:
        name = self._name
        # The registry answers 412 to programs it does not know for models it holds too new.
        known = {"User-Agent": f"ollama/0.12.0 ggufhub/{__version__}"}
        self._headers = known if name.scheme == "ollama" else {}
        api = self._api(name.base, self._headers)
        try:
            answer = self._manifest(api, name.reference)
            if answer.status == 401:
                self._headers = {**self._headers, "Authorization": f"Bearer {self._token(answer)}"}
                api.close()
                api = self._api(name.base, self._headers)
                answer = self._manifest(api, name.reference)
            manifest, notes = self._choose(api, answer.good())
            self._shards = _shards(manifest, name.model)
            models = dict(self._shards) or {f"{name.model}:{name.reference}": manifest.models[0]}
            others = tuple(self._others(api, manifest, list(models.values())))
        finally:
            api.close()
        title, model = next(iter(models.items()))
        return self._http(title, model, self._limits, others, notes)

    def _manifest(self, api: Api, reference: str) -> Answer:
        place = f"/v2/{self._name.repository}/manifests/{reference}"
        return api.get(place, ACCEPT, MANIFEST_BYTES)

    def _choose(self, api: Api, answer: Answer) -> tuple[Manifest, tuple[str, ...]]:
        """The manifest in ``answer``, or of those its index lists the first that has a model."""
        reference = self._name.reference
        asked = reference.removeprefix("sha256:") if ":" in reference else None
        first = document(answer, asked)
        listed = candidates(first)
        if listed is None:
            return parse_manifest(first).checked(), ()
        for digest in listed:
            answer = self._manifest(api, f"sha256:{digest}").good()
            manifest = parse_manifest(document(answer, digest))
            if manifest.models:
                count = f"{len(listed)} manifests" if len(listed) > 1 else "one manifest"
                note = f"The name leads to an index of {count}; sha256:{digest} holds a model."
                return manifest, (note,)
        raise SourceError("not_gguf", "No manifest of the registry's index holds a GGUF layer.")

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
        self,
        title: str,
        model: Layer,
        limits: Limits,
        others: tuple[Layer, ...] = (),
        notes: tuple[str, ...] = (),
    ) -> HttpSource:
        name = self._name
        assert model.digest is not None
        note = f"The model is blob sha256:{model.digest} of {name.locator}."
        return HttpSource(
            urljoin(name.base, self._blob(model)),
            policy=self._policy,
            limits=limits,
            headers=self._headers,
            dialer=self._dialer,
            declared=Declared(
                locator=name.locator,
                name=title,
                size=model.size,
                digests=(Digest("sha256", model.digest, "declared by registry"),),
                notes=(note, *notes),
                layers=others,
            ),
            reads=self.reads,
        )

    def _blob(self, layer: Layer) -> str:
        return f"/v2/{self._name.repository}/blobs/sha256:{layer.digest}"

    def _others(self, api: Api, manifest: Manifest, models: list[Layer]) -> list[Layer]:
        """The layers beside those of the model, short texts with their content."""
        others = []
        texts = 0
        for layer in manifest.layers:
            if layer in models:
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
            given = api.get(realm.path + (f"?{query}" if query else "")).good().json()
        finally:
            api.close()
        token = None
        if isinstance(given, dict):
            token = given.get("token") or given.get("access_token")
        if not isinstance(token, str) or not re.fullmatch(r"[\x21-\x7e]{1,8192}", token):
            raise SourceError("bad_answer", "The registry's realm gives no token.")
        return token


def _shards(manifest: Manifest, model: str) -> dict[str, Layer]:
    """The GGUF layers by the names of the files they were made from, in the order of the shards.

    Empty where the layers are no shards of one model, and the first of them is read alone.
    """
    layers = manifest.models
    count = len(layers)
    titles = [
        manifest.titles.get(layer.digest or "", f"{model}-{number:05d}-of-{count:05d}.gguf")
        for number, layer in enumerate(layers, 1)
    ]
    families = {match and match.groups() for match in map(_SHARD.fullmatch, titles)}
    if count < 2 or None in families or len(families) > 1 or len(set(titles)) < count:
        return {}
    return {title: layers[titles.index(title)] for title in sorted(titles)}
