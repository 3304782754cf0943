"""Signatures of a repository: do they make sense, and do they cover what lies there?

What is signed are digests (``integrity.signatures``); they are held against every digest that is
declared or was computed, so nothing has to be read for it.
"""

import base64
import hashlib
import json
from collections.abc import Iterator

from ggufhub.integrity.signatures import PAYLOAD_TYPE, PREDICATE_TYPE, STATEMENT_TYPE
from ggufhub.rules.model_samples import llama
from ggufhub.rules.registry import Need, Severity, Truth, repository_rule
from ggufhub.rules.repository import MOST_PATHS, Repository, RepositoryHit, inside, listed

LISTING = (Need.REPOSITORY,)


def _signed(files: dict[str, str]) -> bytes:
    """A bundle over files by name with their SHA-256; its signature is none."""
    digests = list(files.values())
    root = hashlib.sha256(b"".join(map(bytes.fromhex, digests))).hexdigest()
    statement = {
        "_type": STATEMENT_TYPE,
        "subject": [{"name": "sample", "digest": {"sha256": root}}],
        "predicateType": PREDICATE_TYPE,
        "predicate": {
            "serialization": {"method": "files", "hash_type": "sha256"},
            "resources": [
                {"name": name, "algorithm": "sha256", "digest": digest}
                for name, digest in files.items()
            ],
        },
    }
    payload = base64.b64encode(json.dumps(statement).encode()).decode()
    envelope = {"payloadType": PAYLOAD_TYPE, "payload": payload, "signatures": [{"sig": ""}]}
    return json.dumps({"dsseEnvelope": envelope}).encode()


def _sound() -> dict[str, bytes]:
    model = llama()
    return {
        "one.gguf": model,
        "model.sig": _signed({"one.gguf": hashlib.sha256(model).hexdigest()}),
    }


@repository_rule(
    "AUD019",
    "Signature contradicts the files",
    Severity.ERROR,
    Truth.ADVICE,
    needs=LISTING,
    help="A model signature (OpenSSF model signing) lists the digest of every file. It cannot be "
    "read, its root digest is not the one of its list, or a file has another digest than the one "
    "that was signed: it was replaced after signing.",
    fix="Find out which file is meant; then put it back, or sign the model again.",
    failing=lambda: {"one.gguf": llama(), "model.sig": _signed({"one.gguf": "0" * 64})},
    passing=_sound,
    runtimes=("people",),
)
def contradicted(repository: Repository) -> Iterator[RepositoryHit]:
    for path, signed in repository.signatures.items():
        for problem in signed.problems:
            yield RepositoryHit(f"{path}: {problem}.", (path,))
        for file in repository.stored:
            below = inside(path, file.path)
            resource = None if below is None else signed.about(below)
            if resource is None:
                continue
            known = {d.value: d.basis for d in file.digests if d.algorithm == resource.algorithm}
            if known and resource.digest not in known:
                value, basis = next(iter(known.items()))
                yield RepositoryHit(
                    f"{file.path} is not the file that {path} signs.",
                    (file.path, path),
                    expected=f"{resource.digest[:16]}… (signed)",
                    actual=f"{value[:16]}… ({basis})",
                )


@repository_rule(
    "AUD020",
    "Signature does not cover the repository",
    Severity.INFO,
    Truth.ADVICE,
    needs=LISTING,
    help="Models lie beside a signature that says nothing about them, or the signature names "
    "files that are not there. Who trusts the signature trusts too much.",
    fix="Sign the model again, with all its files.",
    failing=lambda: {**_sound(), "two.gguf": llama({"general.name": "Two"})},
    passing=_sound,
    runtimes=("people",),
)
def uncovered(repository: Repository) -> Iterator[RepositoryHit]:
    present = {file.path for file in (*repository.files, *repository.stored)}
    for path, signed in repository.signatures.items():
        if signed.problems:
            continue
        models = {file.path for file in repository.stored}
        seen = {one: inside(path, one) for one in models}
        bare = sorted(one for one, below in seen.items() if below and not signed.covers(below))
        if bare:
            message = f"{path} does not sign {listed(bare)}."
            yield RepositoryHit(message, (path, *bare[: MOST_PATHS - 1]))
        folder = path.rpartition("/")[0]
        names = [name for name in signed.names if name.endswith(".gguf")]
        gone = [name for name in names if (f"{folder}/{name}" if folder else name) not in present]
        if gone:
            message = f"{path} signs files that are not there: {listed(gone)}."
            yield RepositoryHit(message, (path,), actual=f"{len(gone)} files")
