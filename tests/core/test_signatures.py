"""Signatures beside a model: what was signed, whether it fits, and what nobody vouches for."""

import base64
import hashlib
import json
from typing import Any

import pytest

from ggufhub.integrity import certificates
from ggufhub.integrity.certificates import verify
from ggufhub.integrity.signatures import (
    MOST_RESOURCES,
    OLD_PREDICATE_TYPE,
    PAYLOAD_TYPE,
    PREDICATE_TYPE,
    STATEMENT_TYPE,
    Resource,
    Signed,
    parse_bundle,
)
from ggufhub.limits import FULL
from tests.builders import small_model
from tests.core.reading import report
from tests.effort import cpu_seconds

MODEL = small_model().build()


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def statement(files: dict[str, bytes], **changes: Any) -> dict[str, Any]:
    """What model-signing writes about ``files``."""
    resources = [
        {"name": name, "algorithm": "sha256", "digest": digest(data)}
        for name, data in sorted(files.items())
    ]
    root = hashlib.sha256(b"".join(bytes.fromhex(one["digest"]) for one in resources))
    return {
        "_type": STATEMENT_TYPE,
        "subject": [{"name": "model", "digest": {"sha256": root.hexdigest()}}],
        "predicateType": PREDICATE_TYPE,
        "predicate": {
            "serialization": {
                "method": "files",
                "hash_type": "sha256",
                "allow_symlinks": False,
                "ignore_paths": ["model.sig", ".git"],
            },
            "resources": resources,
        },
        **changes,
    }


def bundle(content: Any, material: str = "publicKey", **changes: Any) -> str:
    payload = base64.b64encode(json.dumps(content).encode()).decode()
    envelope = {"payload": payload, "payloadType": PAYLOAD_TYPE, "signatures": [{"sig": "AA=="}]}
    return json.dumps(
        {
            "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
            "verificationMaterial": {material: {}},
            "dsseEnvelope": {**envelope, **changes},
        }
    )


def test_what_was_signed() -> None:
    signed = parse_bundle(bundle(statement({"m.gguf": MODEL, "sub/x.json": b"{}"})))
    assert (signed.problems, signed.root, signed.method) == ([], True, "files")
    assert signed.about("m.gguf") == Resource("m.gguf", "sha256", digest(MODEL))
    assert signed.about("x.json") is None
    assert signed.names == ["m.gguf", "sub/x.json"]
    assert signed.covers(".git/config") and signed.covers("m.gguf") and not signed.covers("y")
    assert signed.covers(".git") and not signed.covers(".gitignore") and not signed.covers("sub")


def test_many_files_beside_many_signed_ones_take_no_time() -> None:
    resources = [Resource(f"{n}.bin", "sha256", "") for n in range(16_000)]
    signed = Signed(resources, method="files", ignored=[f"folder{n}" for n in range(16_000)])
    with cpu_seconds(5):
        assert not any(signed.covers(f"{n}.txt") for n in range(10_000))


def test_pieces_of_files_are_no_digest_of_a_file() -> None:
    content = statement({"m.gguf:0:1000": b"a", "m.gguf:1000:1500": b"b"})
    content["predicate"]["serialization"]["method"] = "shards"
    signed = parse_bundle(bundle(content))
    assert signed.problems == [] and signed.about("m.gguf") is None
    assert signed.names == ["m.gguf"] and signed.covers("m.gguf")


def test_the_statement_before_version_one() -> None:
    subjects = [{"name": "m.gguf", "digest": {"sha256": digest(MODEL)}}]
    content = statement({}, predicateType=OLD_PREDICATE_TYPE, subject=subjects)
    signed = parse_bundle(bundle(content))
    assert (signed.problems, signed.root) == ([], None)
    assert signed.about("m.gguf") == Resource("m.gguf", "sha256", digest(MODEL))


def _with(path: str, value: Any) -> str:
    content = statement({"m.gguf": MODEL})
    *way, last = path.split(".")
    place: Any = content
    for step in way:
        place = place[int(step) if step.isdigit() else step]
    place[last] = value
    return bundle(content)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no JSON"),
        ("[]", "the bundle"),
        ("[" * 100_000, "no JSON"),
        ("{}", "envelope"),
        (bundle({}, payloadType="text/plain"), "type"),
        (bundle({}, payload="%%"), "Base64"),
        (bundle({}, payload=7), "no JSON"),
        (bundle({}, signatures=[]), "nobody signed"),
        (bundle({"_type": "x"}), "statement"),
        (_with("predicateType", "https://slsa.dev/provenance/v1"), "not about a model"),
        (_with("predicate", None), "predicate"),
        (_with("predicate.serialization.method", "zip"), "serialised"),
        (_with("predicate.resources", {}), "list of resources"),
        (_with("predicate.resources", [{}] * (MOST_RESOURCES + 1)), "longer than"),
        (_with("predicate.resources", [{"name": "m"}]), "lacks"),
        (_with("predicate.resources.0.digest", "xyz"), "hexadecimal"),
        (_with("predicate.resources.0.digest", "00" * 32), "root digest"),
        (_with("subject", []), "one subject"),
        (_with("subject.0.digest", {"sha256": 7}), "root digest"),
    ],
)
def test_bundles_that_make_no_sense(text: str, words: str) -> None:
    (problem,) = parse_bundle(text).problems
    assert words in problem


def test_a_bundle_that_is_too_large() -> None:
    text = bundle(statement({"m.gguf": MODEL})) + " " * (5 << 20)
    assert "too large" in parse_bundle(text).problems[0]


# Beside a model


def beside(content: Any, others: dict[str, bytes] | None = None) -> dict[str, Any]:
    files = {"m.gguf": MODEL, "model.sig": bundle(content).encode(), **(others or {})}
    return report(files, depth=FULL).document


def rules(document: dict[str, Any], rule: str) -> list[dict[str, Any]]:
    return [finding for finding in document["findings"] if finding["rule"] == rule]


def test_a_signed_model() -> None:
    document = beside(statement({"m.gguf": MODEL}))
    (file,) = document["files"]
    bases = {entry["basis"] for entry in file["digests"]}
    assert bases == {"in a signature", "computed from all bytes"}
    assert rules(document, "STR035") == []
    (finding,) = rules(document, "PRV007")
    assert finding["severity"] == "info" and "not verified" in finding["message"]
    assert file["signature"]["problems"] == file["signature"]["unsigned"] == []


def test_another_model_than_the_signed_one() -> None:
    (finding,) = rules(beside(statement({"m.gguf": b"other"})), "STR035")
    assert finding["expected"] == digest(b"other") and finding["actual"] == digest(MODEL)


def test_files_nobody_signed_and_signed_ones_that_are_gone() -> None:
    others = {"evil.bin": b"x"}
    document = beside(statement({"m.gguf": MODEL, "config.json": b"{}", "a/b": b""}), others)
    (finding,) = rules(document, "PRV007")
    assert "1 files are not signed, the first evil.bin" in finding["message"]
    assert "1 files are signed but absent, the first config.json" in finding["message"]


def test_a_signature_that_makes_no_sense_is_a_warning() -> None:
    content = statement({"m.gguf": MODEL})
    content["subject"][0]["digest"]["sha256"] = "00" * 32
    (finding,) = rules(beside(content), "PRV007")
    assert finding["severity"] == "warning" and "root digest" in finding["message"]


def test_without_a_signature_nothing_is_said() -> None:
    document = report({"m.gguf": MODEL}, depth=FULL).document
    assert rules(document, "PRV007") == [] and document["files"][0]["signature"] is None


# The signature itself


def test_who_cannot_be_asked() -> None:
    text = bundle(statement({"m.gguf": MODEL}))
    assert "signed with a key" in verify(text, parse_bundle(text).material)
    assert "neither" in verify(text, "nothing")


def test_without_the_extra_nothing_is_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(certificates, "import_module", missing)
    text = bundle(statement({"m.gguf": MODEL}), "certificate")
    standing = verify(text, parse_bundle(text).material)
    assert standing.startswith("not verified") and "ggufhub[signatures]" in standing


class Packages:
    """Stands in for ``sigstore``: ``verifies`` is what its verifier does with a bundle."""

    def __init__(self, verifies: Any) -> None:
        self.Bundle = self.Verifier = self.policy = self
        self.production = lambda offline: self
        self.from_json = lambda text: self
        self.UnsafeNoOp = lambda: None
        self.verify_dsse = lambda bundle, policy: verifies()


@pytest.mark.parametrize("error", [ValueError("the chain ends\nnowhere"), KeyError()])
def test_a_certificate_that_does_not_hold(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def refuse() -> None:
        raise error

    packages = Packages(refuse)
    monkeypatch.setattr(certificates, "import_module", lambda name: packages)
    text = bundle(statement({"m.gguf": MODEL}), "certificate")
    assert verify(text, "certificate").startswith("bad: ") and "\n" not in verify(
        text, "certificate"
    )
    files = {"m.gguf": MODEL, "model.sig": text.encode()}
    (finding,) = rules(report(files, depth=FULL).document, "PRV007")
    assert finding["severity"] == "warning"


def test_a_certificate_that_holds_tells_who_signed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certificates, "import_module", lambda name: Packages(lambda: None))
    monkeypatch.setattr(certificates, "_identity", lambda bundle: "maker@example.org")
    text = bundle(statement({"m.gguf": MODEL}), "certificate")
    assert verify(text, "certificate") == "verified: signed by maker@example.org"
