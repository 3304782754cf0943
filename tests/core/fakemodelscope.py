"""ModelScope on loopback: one repository, its listing, and files by the commit of each."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

from ggufhub.sources.hub_names import HubSettings
from ggufhub.sources.modelscope import ModelScopeSource
from ggufhub.sources.modelscope_names import parse_modelscope_name
from tests.core import rangeserver
from tests.core.httpkit import SMALL
from tests.core.rangeserver import LOOPBACK, Handler, OnOneServer, RangeServer

REPO = "org/repo"


class FakeModelScope(OnOneServer):
    """Serves ``files``. ``paged`` makes it count pages; its files it answers as the real one
    does, with status 200 and a right Content-Range."""

    def __init__(self, files: Mapping[str, bytes], *, paged: bool = True) -> None:
        self.files = dict(files)
        self.paged = paged
        self.extra: list[Any] = []
        self.server = RangeServer()
        self.server.behaviours[f"api/v1/models/{REPO}/repo/files"] = self._listing
        for path, data in files.items():
            place = f"models/{REPO}/resolve/{self.commit(path)}/{path}"
            self.server.files[place] = data
            self.server.behaviours[place] = rangeserver.status_200_with_content_range

    def commit(self, path: str) -> str:
        """The commit that last changed ``path``."""
        return hashlib.sha1(path.encode(), usedforsecurity=False).hexdigest()

    def open(self, text: str) -> ModelScopeSource:
        found = parse_modelscope_name(text, self.endpoint)
        assert found is not None
        name, endpoint = found
        limits = replace(SMALL, requests=40)
        settings = HubSettings(endpoint)
        return ModelScopeSource(name, policy=LOOPBACK, limits=limits, settings=settings)

    def queries(self) -> list[dict[str, str]]:
        """What was asked of listings."""
        asked = [urlsplit(request.path) for request in self.server.requests]
        pairs = [parse_qs(url.query) for url in asked if url.path.endswith("/repo/files")]
        return [{key: values[0] for key, values in query.items()} for query in pairs]

    def _listing(self, handler: Handler, data: bytes) -> None:
        query = {k: v[0] for k, v in parse_qs(urlsplit(handler.path).query).items()}
        if query["Revision"] != "master":
            body = {"Code": 10010205001, "Message": "revision not found", "Success": False}
            handler.answer(200, json.dumps(body).encode())
            return
        entries = self._entries(query.get("Root", ""), deep=query["Recursive"] == "True")
        if self.paged:
            size = int(query["PageSize"])
            start = (int(query["PageNumber"]) - 1) * size
            entries = entries[start : start + size]
        body = {"Code": 200, "Success": True, "Data": {"Files": entries + self.extra}}
        handler.answer(200, json.dumps(body).encode())

    def _entries(self, root: str, *, deep: bool) -> list[dict[str, Any]]:
        prefix = f"{root}/" if root else ""
        entries: list[dict[str, Any]] = []
        for path, data in self.files.items():
            below = path.removeprefix(prefix)
            if not path.startswith(prefix):
                continue
            if "/" in below:
                folder = prefix + below.split("/")[0]
                entry = {"Path": folder, "Type": "tree", "Size": 0, "Sha256": ""}
                entries += [entry] if entry not in entries else []
            if deep or "/" not in below:
                entries.append(
                    {
                        "Path": path,
                        "Name": path.rpartition("/")[2],
                        "Type": "blob",
                        "Size": len(data),
                        "Sha256": hashlib.sha256(data).hexdigest(),
                        "Revision": self.commit(path),
                        "IsLFS": path.endswith(".gguf"),
                    }
                )
        return entries
