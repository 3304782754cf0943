"""A model hub on loopback: commits, paged listings, tokens, and a delivery host of its own."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self
from urllib.parse import parse_qs, quote, urlsplit

from ggufhub.sources.hub import HubSource
from ggufhub.sources.hub_names import HubSettings, parse_hub_name
from tests.core import rangeserver
from tests.core.httpkit import SMALL
from tests.core.rangeserver import LOOPBACK, Behaviour, Handler, RangeServer

COMMIT = "c0ffee" + "0" * 34
REPO = "org/repo"


class FakeHub:
    """Serves ``files`` of one repository. GGUF files lie outside git, as on the real hub.

    ``page`` is the number of entries in one page of a listing, ``token`` what a private
    repository asks for. Links to the delivery host are signed; ``expire()`` ends them all.
    """

    def __init__(
        self, files: Mapping[str, bytes], *, page: int = 1000, token: str = "", gated: bool = False
    ) -> None:
        self.files = dict(files)
        self.oids = {path: hashlib.sha256(data).hexdigest() for path, data in files.items()}
        self.commit = COMMIT
        self.page = page
        self.token = token
        self.gated = gated
        self.signature = 1
        self.hub = RangeServer()
        self.cdn = RangeServer()
        self._route()

    def __enter__(self) -> Self:
        self.hub.__enter__()
        self.cdn.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self.hub.__exit__(*error)
        self.cdn.__exit__(*error)

    @property
    def endpoint(self) -> str:
        return self.hub.url("").rstrip("/")

    def open(self, text: str, token: str = "", **limits: Any) -> HubSource:
        name = parse_hub_name(text, self.endpoint)
        assert name is not None
        return HubSource(
            name,
            policy=LOOPBACK,
            limits=replace(SMALL, **{"requests": 40, **limits}),
            settings=HubSettings(self.endpoint, token or None),
        )

    def expire(self) -> None:
        """Links handed out so far no longer open anything."""
        self.signature += 1

    def paths(self) -> list[str]:
        """What was asked of the hub, without the commit."""
        return [request.path.replace(self.commit, "COMMIT") for request in self.hub.requests]

    def _route(self) -> None:
        api = f"api/models/{REPO}"
        folders = {path[: path.rfind("/")] for path in self.files if "/" in path}
        routes: dict[str, Behaviour] = {f"{api}/revision/main": self._revision}
        for folder in {"", *folders}:
            routes[f"{api}/tree/{COMMIT}/{folder}".rstrip("/")] = self._tree(folder)
        for path, data in self.files.items():
            routes[f"{REPO}/resolve/{COMMIT}/{path}"] = self._resolve(path)
            self.cdn.files[path] = data
            self.cdn.behaviours[path] = self._deliver
        refusal = rangeserver.fixed(404, X_Error_Code="RepoNotFound")
        for name in (f"{api}/revision/absent", "api/models/org/absent/revision/main"):
            routes[name] = refusal
        self.hub.behaviours = {name: self._guarded(route) for name, route in routes.items()}

    def _guarded(self, route: Behaviour) -> Behaviour:
        def serve(handler: Handler, data: bytes) -> None:
            sent = handler.headers.get("Authorization")
            if self.token and sent != f"Bearer {self.token}":
                reason = "GatedRepo" if self.gated else "RepoNotFound"
                handler.answer(401, b"secret page", **{"X-Error-Code": reason})
            else:
                route(handler, data)

        return serve

    def _revision(self, handler: Handler, data: bytes) -> None:
        handler.answer(200, json.dumps({"sha": self.commit}).encode())

    def _tree(self, folder: str) -> Behaviour:
        def serve(handler: Handler, data: bytes) -> None:
            query = parse_qs(urlsplit(handler.path).query)
            entries = self._entries(folder, deep="recursive" in query)
            start = int(query.get("cursor", ["0"])[0])
            headers = {}
            if start + self.page < len(entries):
                place = urlsplit(handler.path).path
                deep = "recursive=true&" if "recursive" in query else ""
                link = f"{self.endpoint}{place}?{deep}cursor={start + self.page}"
                headers["Link"] = f'<{link}>; rel="next"'
            body = json.dumps(entries[start : start + self.page]).encode()
            handler.answer(200, body, **headers)

        return serve

    def _entries(self, folder: str, *, deep: bool) -> list[dict[str, Any]]:
        prefix = f"{folder}/" if folder else ""
        entries, folders = [], set()
        for path, data in self.files.items():
            below = path.removeprefix(prefix)
            if not path.startswith(prefix):
                continue
            if "/" in below and not deep:
                folders.add(prefix + below.split("/")[0])
                continue
            entry: dict[str, Any] = {"type": "file", "path": path, "size": len(data), "oid": "0"}
            if path.endswith(".gguf"):
                entry["lfs"] = {"oid": self.oids[path], "size": len(data), "pointerSize": 134}
            entries.append(entry)
        return entries + [{"type": "directory", "path": name} for name in sorted(folders)]

    def _resolve(self, path: str) -> Behaviour:
        def serve(handler: Handler, data: bytes) -> None:
            place = f"{self.cdn.url('')}{quote(path)}?X-Amz-Signature={self.signature}"
            headers = {
                "Location": place,
                "X-Repo-Commit": self.commit,
                "X-Linked-Size": str(len(self.files[path])),
                "X-Linked-Etag": f'"{self.oids[path]}"',
            }
            handler.answer(302, b"moved", **headers)

        return serve

    def _deliver(self, handler: Handler, data: bytes) -> None:
        query = parse_qs(urlsplit(handler.path).query)
        if query["X-Amz-Signature"] != [str(self.signature)]:
            handler.answer(403, b"<Error>expired</Error>")
        else:
            handler.serve(data, ETag='"the delivery host has a digest of its own"')
