"""Names in object stores, which buckets are opened, and secrets in files."""

from pathlib import Path

import pytest

from ggufhub.errors import SourceError, UsageError
from ggufhub.sources.bucket_names import (
    ObjectName,
    check_opened,
    opened_buckets,
    parse_object_name,
)
from ggufhub.sources.secrets import setting


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("s3://models/a.gguf", ObjectName("s3", "models", "a.gguf")),
        ("S3://models/x/y/a.gguf", ObjectName("s3", "models", "x/y/a.gguf")),
        ("gs://my.example.org/a", ObjectName("gs", "my.example.org", "a")),
        ("az://container/a%20b.gguf", ObjectName("az", "container", "a b.gguf")),
        ("s3://models/模型.gguf", ObjectName("s3", "models", "模型.gguf")),
        ("s3://models", ObjectName("s3", "models")),
        ("s3://models/folder/", ObjectName("s3", "models", "folder")),
    ],
)
def test_names(text: str, name: ObjectName) -> None:
    assert parse_object_name(text) == name
    assert parse_object_name(name.locator) == name


@pytest.mark.parametrize("text", ["https://s3.example.org/b/k", "hf://a/b", "a/b", "s3:/a/b", ""])
def test_what_is_no_object_name(text: str) -> None:
    assert parse_object_name(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "s3://",
        "s3:///k",
        "s3://b/k",
        "s3://-b/k",
        "s3://user@bucket/k",
        "s3://bucket:9000/k",
        "s3://bucket/a/../k",
        "s3://bucket/a/%2e%2e/k",
        "s3://bucket/a//k",
        "s3://bucket/./k",
        "s3://bucket/a\nb",
        "s3://bucket/a%00b",
        "s3://bucket/%ff",
        "s3://bucket/" + "k" * 1025,
        "s3://bucket/" + "\udc80",
    ],
)
def test_broken_names(text: str) -> None:
    with pytest.raises(SourceError) as caught:
        parse_object_name(text)
    assert caught.value.code == "object_name"


@pytest.mark.parametrize(
    ("text", "opened"),
    [
        ("s3://models/a.gguf", True),
        ("gs://models/a.gguf", False),
        ("s3://models2/a.gguf", False),
        ("gs://weights/public/a.gguf", True),
        ("gs://weights/public2/a.gguf", False),
        ("gs://weights/a.gguf", False),
    ],
)
def test_only_opened_places_are_read(text: str, opened: bool) -> None:
    environment = {"GGUFHUB_BUCKETS": " s3://models, gs://weights/public/ ,"}
    name = parse_object_name(text)
    assert name is not None
    if opened:
        check_opened(name, environment)
        return
    with pytest.raises(SourceError) as caught:
        check_opened(name, environment)
    assert caught.value.code == "bucket"
    assert "weights" not in caught.value.message


def test_none_is_opened_unless_the_operator_says_so() -> None:
    assert opened_buckets({}) == ()


@pytest.mark.parametrize("text", ["models", "https://models", "s3://models,s3://a b"])
def test_a_setting_that_makes_no_sense(text: str) -> None:
    with pytest.raises(UsageError, match="GGUFHUB_BUCKETS"):
        opened_buckets({"GGUFHUB_BUCKETS": text})


def test_a_secret_may_lie_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("not-so-secret\n")
    assert setting({"A_FILE": str(file)}, "A") == "not-so-secret"
    assert setting({"A": "x", "A_FILE": str(file)}, "A") == "x"
    assert setting({}, "A") == ""
    with pytest.raises(UsageError, match="A_FILE"):
        setting({"A_FILE": str(tmp_path / "absent")}, "A")
