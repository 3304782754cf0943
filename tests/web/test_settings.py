"""Wrong settings stop the start with a plain message; right ones do what they say."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from ggufhub.web import database, env, secret_key

SHOW = "from django.conf import settings as s; import json; print(json.dumps({names}, default=str))"


def start(data: Path, *names: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """A fresh interpreter with these variables that prints these settings as a list."""
    code = SHOW.format(names="[" + ", ".join(f"s.{name}" for name in names) + "]")
    environment = {
        "PATH": os.environ["PATH"],
        "DJANGO_SETTINGS_MODULE": "ggufhub.web.settings",
        "GGUFHUB_DATA": str(data),
        **variables,
    }
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=30
    )


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"GGUFHUB_BIND": "8000"}, "GGUFHUB_BIND must look like"),
        ({"GGUFHUB_BIND": "0.0.0.0:8000", "GGUFHUB_AUTH": "open"}, "lets in everyone"),
        ({"GGUFHUB_AUTH": "maybe"}, "GGUFHUB_AUTH must be one of open, required"),
        ({"GGUFHUB_WEB_THREADS": "many"}, "GGUFHUB_WEB_THREADS must be a whole number"),
        ({"GGUFHUB_WEB_THREADS": "1000"}, "GGUFHUB_WEB_THREADS must be from 2 to 64"),
        ({"GGUFHUB_HTTPS": "perhaps"}, "GGUFHUB_HTTPS must be yes or no"),
        ({"GGUFHUB_DEBUG": "1", "GGUFHUB_BIND": "0.0.0.0:80"}, "GGUFHUB_DEBUG shows internals"),
        ({"GGUFHUB_DATABASE_URL": "mysql://x/y"}, "GGUFHUB_DATABASE_URL must look like"),
        ({"GGUFHUB_SECRET_KEY_FILE": "/nowhere/key"}, "GGUFHUB_SECRET_KEY_FILE cannot be read"),
        ({"GGUFHUB_DATA": "/proc/nowhere"}, "GGUFHUB_DATA cannot be used"),
    ],
)
def test_a_wrong_value_stops_the_start(
    tmp_path: Path, variables: dict[str, str], message: str
) -> None:
    result = start(tmp_path, "DEBUG", **variables)
    assert result.returncode != 0
    assert message in result.stderr.splitlines()[-1] + result.stderr


@pytest.mark.parametrize(
    ("bind", "mode"),
    [
        ("127.0.0.1:1", '"open"'),
        ("[::1]:1", '"open"'),
        ("localhost:1", '"open"'),
        ("0.0.0.0:1", '"required"'),
        ("10.0.0.1:1", '"required"'),
        ("host.example:1", '"required"'),
    ],
)
def test_only_a_loopback_address_is_open(tmp_path: Path, bind: str, mode: str) -> None:
    assert start(tmp_path, "AUTH_MODE", GGUFHUB_BIND=bind).stdout.strip() == f"[{mode}]"


def test_eight_first_starts_make_one_key(tmp_path: Path) -> None:
    data = tmp_path / "new"
    code = SHOW.format(names="s.SECRET_KEY")
    environment = {
        "PATH": os.environ["PATH"],
        "DJANGO_SETTINGS_MODULE": "ggufhub.web.settings",
        "GGUFHUB_DATA": str(data),
    }
    starts = [
        subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE)
        for _ in range(8)
    ]
    keys = {process.communicate(timeout=30)[0] for process in starts}
    assert len(keys) == 1 and len(keys.pop().strip()) > 64
    assert (data / "secret.key").stat().st_mode & 0o777 == 0o600
    assert data.stat().st_mode & 0o777 == 0o700


def test_an_empty_key_file_is_named(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(secret_key, "WAIT_SECONDS", 0.05)
    (tmp_path / "secret.key").touch()
    with pytest.raises(ImproperlyConfigured, match="is empty"):
        secret_key.load_or_create(tmp_path / "secret.key")


def test_a_secret_may_come_from_a_file_but_not_twice(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "secret").write_text("from file\n")
    monkeypatch.setenv("SAMPLE_FILE", str(tmp_path / "secret"))
    assert env.secret("SAMPLE") == "from file"
    monkeypatch.setenv("SAMPLE", "direct")
    with pytest.raises(ImproperlyConfigured, match="not both"):
        env.secret("SAMPLE")


def test_lists_and_flags(monkeypatch: Any) -> None:
    monkeypatch.setenv("SAMPLE", " a, b ,,c ")
    assert env.items("SAMPLE") == ["a", "b", "c"]
    monkeypatch.setenv("SAMPLE", "On")
    assert env.flag("SAMPLE") and not env.flag("ABSENT")


def test_a_database_url_is_taken_apart() -> None:
    url = "postgresql://us%40er:p%2Fw@db.example:5433/name?sslmode=require"
    values = database.choose(url, Path("unused"))
    assert (values["USER"], values["PASSWORD"], values["NAME"]) == ("us@er", "p/w", "name")
    assert (values["HOST"], values["PORT"]) == ("db.example", 5433)
    assert values["OPTIONS"]["sslmode"] == "require"
    assert "statement_timeout" in values["OPTIONS"]["options"]
    assert database.choose("postgresql:///n?host=/run/pg", Path("x"))["HOST"] == "/run/pg"
    assert database.choose("sqlite:///a%20b.db", Path("x"))["NAME"] == Path("/a b.db")
