"""An organisation on a model hub on loopback: paged lists, commits, and a quota of requests."""

import hashlib
import json
import threading
import time
from collections.abc import Iterable
from functools import partial
from unittest.mock import patch
from urllib.parse import parse_qs, urlsplit

from tests.core.rangeserver import Behaviour, Handler, OnOneServer, RangeServer

COMMIT = "c0ffee" + "0" * 34
PAGE = 100


class Window:
    """At most ``most`` requests in every ``seconds``, as the hub counts them: a window begins with
    its first request. ``asked`` and ``refused`` count those of each window."""

    def __init__(self, name: str, most: int, seconds: float) -> None:
        self.name = name
        self.most = most
        self.seconds = seconds
        self.asked: list[int] = []
        self.refused = 0
        self._began = 0.0
        self._lock = threading.Lock()

    def counted(self, route: Behaviour) -> Behaviour:
        """``route`` as long as the window has room for it, else 429; the answer to every request
        says how much room is left."""

        def serve(handler: Handler, data: bytes) -> None:
            taken, left, wait = self._take()
            told = {"RateLimit": f'"{self.name}";r={left};t={wait}'}
            if taken:
                with patch.object(handler, "answer", partial(handler.answer, **told)):
                    route(handler, data)
            else:
                handler.answer(429, b"slow down", **{"Retry-After": str(wait)}, **told)

        return serve

    def _take(self) -> tuple[bool, int, int]:
        """Whether there is room, what is left then, and the seconds to the next window."""
        with self._lock:
            now = time.monotonic()
            if now - self._began >= self.seconds:
                self._began = now
                self.asked.append(0)
            taken = self.asked[-1] < self.most
            self.asked[-1] += 1
            self.refused += not taken
            wait = int(self._began + self.seconds - now) + 1
            return taken, max(self.most - self.asked[-1], 0), wait


class FakeOrganisation(OnOneServer):
    """``count`` repositories ``org/r000``…, each with ``model`` under the name of its repository.

    Every ``quota`` requests of the API the hub asks to come back in ``pause`` seconds, once; the
    ``windows`` limit it as the real hub does: those of the API (``api``) and of files
    (``resolvers``).
    """

    def __init__(
        self,
        count: int,
        model: bytes,
        *,
        quota: int = 0,
        pause: str = "0",
        windows: Iterable[Window] = (),
    ) -> None:
        self.names = [f"org/r{number:03}" for number in range(count)]
        self.model = model
        self.sha256 = hashlib.sha256(model).hexdigest()
        self.quota = quota
        self.pause = pause
        self.refused = 0
        self._asked = 0
        self.server = RangeServer()
        files: dict[str, Behaviour] = {}
        routes: dict[str, Behaviour] = {
            "api/models": self._models,
            "api/collections/org/best-1a2b": self._collection,
        }
        for name in self.names:
            file = f"{name.partition('/')[2]}-Q8_0.gguf"
            routes[f"api/models/{name}/revision/main"] = self._revision
            routes[f"api/models/{name}/tree/{COMMIT}"] = self._tree(file)
            files[f"{name}/resolve/{COMMIT}/{file}"] = lambda handler, _: handler.serve(model)
        routes = {name: self._counted(route) for name, route in routes.items()}
        limits = {window.name: window.counted for window in windows}
        for kind, found in (("api", routes), ("resolvers", files)):
            limit = limits.get(kind, lambda route: route)
            self.server.behaviours |= {name: limit(route) for name, route in found.items()}

    def _counted(self, route: Behaviour) -> Behaviour:
        def serve(handler: Handler, data: bytes) -> None:
            self._asked += 1
            if self.quota and self._asked % self.quota == 0:
                self.refused += 1
                handler.answer(429, b"slow down", **{"Retry-After": self.pause})
            else:
                route(handler, data)

        return serve

    def _models(self, handler: Handler, data: bytes) -> None:
        query = parse_qs(urlsplit(handler.path).query)
        start = int(query.get("cursor", ["0"])[0])
        headers = {}
        if start + PAGE < len(self.names):
            link = f"{self.endpoint}/api/models?author=org&cursor={start + PAGE}"
            headers["Link"] = f'<{link}>; rel="next"'
        found = [{"id": name} for name in self.names[start : start + PAGE]]
        handler.answer(200, json.dumps(found).encode(), **headers)

    def _collection(self, handler: Handler, data: bytes) -> None:
        items = [{"type": "model", "id": name} for name in self.names[:2]]
        items.append({"type": "dataset", "id": "org/data"})
        handler.answer(200, json.dumps({"items": items}).encode())

    def _revision(self, handler: Handler, data: bytes) -> None:
        facts = {"sha": COMMIT, "gguf": {"architecture": "llama"}, "cardData": {"license": "mit"}}
        handler.answer(200, json.dumps(facts).encode())

    def _tree(self, file: str) -> Behaviour:
        entry = {"type": "file", "path": file, "size": len(self.model), "oid": "0"}
        entry["lfs"] = {"oid": self.sha256, "size": len(self.model), "pointerSize": 134}

        def serve(handler: Handler, data: bytes) -> None:
            handler.answer(200, json.dumps([entry]).encode())

        return serve
