"""A client of a running service: a browser with its cookies, or a program with a token."""

import json
import re
import time
from http.client import HTTPConnection, HTTPException, HTTPMessage
from typing import Any, NamedTuple
from urllib.parse import urlencode


class Answer(NamedTuple):
    status: int
    headers: HTTPMessage
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Client:
    """One connection per request, so that no test depends on another one's."""

    def __init__(self, port: int, token: str = "", timeout: float = 30.0) -> None:
        self.port = port
        self.token = token
        self.timeout = timeout
        self.cookies: dict[str, str] = {}

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """One request; ``OSError`` where there is no answer. A dict is sent as JSON."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if isinstance(body, dict):
            body, sent["Content-Type"] = json.dumps(body), "application/json"
        if self.token:
            sent["Authorization"] = f"Bearer {self.token}"
        if self.cookies:
            sent["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
            sent["X-CSRFToken"] = self.cookies.get("csrftoken", "")
        connection = HTTPConnection("127.0.0.1", self.port, timeout=self.timeout)
        try:
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            found = Answer(answer.status, answer.headers, answer.read())
        except HTTPException as error:
            raise OSError(f"{type(error).__name__}: {error}") from error
        finally:
            connection.close()
        for line in found.headers.get_all("Set-Cookie", []):
            name, _, value = line.partition(";")[0].partition("=")
            self.cookies[name] = value
        return found

    def status(self, method: str, path: str, body: Any = None) -> int | None:
        """The status of an answer; None where there is none."""
        try:
            return self.ask(method, path, body).status
        except OSError:
            return None

    def ready(self) -> bool:
        return self.status("GET", "/readyz") == 200

    def sign_in(self, name: str, password: str) -> Answer:
        form = self.ask("GET", "/signin").body.decode()
        match = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', form)
        assert match is not None
        fields = {"username": name, "password": password, "csrfmiddlewaretoken": match[1]}
        kind = "application/x-www-form-urlencoded"
        return self.ask("POST", "/signin", urlencode(fields), Content_Type=kind)

    def upload(self, data: bytes, name: str = "bW9kZWwuZ2d1Zg==") -> str:
        """A complete upload; its id. ``name`` is base64, as the protocol wants it."""
        made = self.ask(
            "POST",
            "/api/v1/uploads",
            Tus_Resumable="1.0.0",
            Upload_Length=str(len(data)),
            Upload_Metadata=f"filename {name}",
        )
        assert made.status == 201, made
        sent = self.append(made.json["id"], 0, data)
        assert sent.status == 204, sent
        return str(made.json["id"])

    def append(self, upload: str, offset: int, data: bytes) -> Answer:
        return self.ask(
            "PATCH",
            f"/api/v1/uploads/{upload}",
            data,
            Tus_Resumable="1.0.0",
            Upload_Offset=str(offset),
            Content_Type="application/offset+octet-stream",
        )

    def submit(self, **fields: Any) -> dict[str, Any]:
        """A new inspection."""
        answer = self.ask("POST", "/api/v1/inspections", fields)
        assert answer.status in (200, 202), answer
        row: dict[str, Any] = answer.json
        return row

    def look(self, row: dict[str, Any]) -> dict[str, Any]:
        """The inspection as it stands."""
        found: dict[str, Any] = self.ask("GET", f"/api/v1/inspections/{row['id']}").json
        return found

    def ended(self, row: dict[str, Any], seconds: float = 60.0) -> dict[str, Any]:
        """The inspection once it has ended."""
        end = time.monotonic() + seconds
        while True:
            try:
                found = self.look(row)
                if found.get("state") in ("done", "failed", "cancelled"):
                    return found
            except OSError:
                found = {}
            assert time.monotonic() < end, f"not within {seconds} s: {found}"
            time.sleep(0.1)
