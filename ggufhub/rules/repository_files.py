"""The files of a repository: what is missing, cut, doubled, misnamed, or not what is declared."""

import re
from collections import defaultdict
from collections.abc import Iterator

from ggufhub.formats.naming import ShardName, shard_name
from ggufhub.rules.kind import projector_set
from ggufhub.rules.model_samples import llama
from ggufhub.rules.registry import Need, Severity, Truth, repository_rule
from ggufhub.rules.repository import (
    MOST_PATHS,
    Member,
    Repository,
    RepositoryHit,
    inside,
    listed,
)
from ggufhub.rules.samples import small_model
from ggufhub.sources.base import Digest
from ggufhub.sources.listing import Entry

LISTING = (Need.REPOSITORY,)

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 1\n"


def _two_models() -> dict[str, bytes]:
    return {"one.gguf": llama(), "two.gguf": llama({"general.name": "Two"})}


@repository_rule(
    "AUD009",
    "No model fits the projector",
    Severity.WARNING,
    Truth.ADVICE,
    needs=LISTING,
    help="A multimodal projector puts out vectors as wide as the embedding of its text model. No "
    "text model in its folder has that width, so nothing in the repository can use it. Judged for "
    "the projectors whose output is known.",
    fix="Add the projector that was published with the models.",
    failing=lambda: {**projector_set(64), "second.gguf": llama()},
    passing=lambda: projector_set(32),
)
def unused_projector(repository: Repository) -> Iterator[RepositoryHit]:
    for projector in repository.projectors:
        widths = {
            member.embedding
            for member in repository.members
            if member.folder == projector.folder and member.kind == "model" and member.embedding
        }
        if projector.projection is not None and widths and projector.projection not in widths:
            expected = " or ".join(f"{width:,}" for width in sorted(widths))
            yield RepositoryHit(
                f"{projector.name} puts out {projector.projection:,} values; the models beside it "
                f"take {expected}.",
                (projector.path,),
                expected=expected,
                actual=f"{projector.projection:,}",
            )


@repository_rule(
    "AUD010",
    "The same file twice",
    Severity.INFO,
    Truth.ADVICE,
    needs=LISTING,
    help="Two files with the same SHA-256 under two names cost space and a download, and leave "
    "open which of the names is true.",
    fix="Delete one of the two.",
    failing=lambda: {"one.gguf": llama(), "two.gguf": llama()},
    passing=_two_models,
)
def doubled(repository: Repository) -> Iterator[RepositoryHit]:
    by_digest: dict[str, list[str]] = defaultdict(list)
    for file in repository.stored:
        for value in {digest.value for digest in file.digests if digest.algorithm == "sha256"}:
            by_digest[value].append(file.path)
    for value, paths in by_digest.items():
        unique = sorted(set(paths))
        if len(unique) > 1:
            yield RepositoryHit(
                f"{listed(unique)} are the same file.", tuple(unique[:MOST_PATHS]), actual=value
            )


@repository_rule(
    "AUD011",
    "Licence is not the one the card declares",
    Severity.WARNING,
    Truth.ADVICE,
    needs=LISTING,
    help="The card of the repository and the file name different licences. The file travels "
    "alone, so what it says is what people go by.",
    fix="Correct general.license in the files, or license in the head of the README.",
    failing=lambda: {"README.md": b"---\nlicense: mit\n---\n", "one.gguf": llama()},
    passing=lambda: {"README.md": b"---\nlicense: apache-2.0\n---\n", "one.gguf": llama()},
)
def other_licence(repository: Repository) -> Iterator[RepositoryHit]:
    for member in repository.members:
        card = repository.card(member.folder)
        if card is None or not card.license or not member.license:
            continue
        if card.license.lower() != member.license.lower() and card.license.lower() != "other":
            yield RepositoryHit(
                f"{member.name} says {member.license}, {card.path} says {card.license}.",
                (member.path, card.path),
                expected=card.license,
                actual=member.license,
            )


def _based_on(name: str) -> bytes:
    return llama(
        {
            "general.base_model.count": 1,
            "general.base_model.0.repo_url": f"https://huggingface.co/{name}",
        }
    )


@repository_rule(
    "AUD021",
    "Base model is not one the card declares",
    Severity.INFO,
    Truth.ADVICE,
    needs=LISTING,
    help="The card of the repository and the file name different models that this one was made "
    "from. Licence and known defects come from the base model, so one of the two misleads.",
    fix="Correct general.base_model.* in the files, or base_model in the head of the README.",
    failing=lambda: {
        "README.md": b"---\nbase_model: org/other\n---\n",
        "one.gguf": _based_on("org/base"),
    },
    passing=lambda: {
        "README.md": b"---\nbase_model:\n- org/base\n---\n",
        "one.gguf": _based_on("Org/Base"),
    },
    runtimes=("people",),
)
def other_base(repository: Repository) -> Iterator[RepositoryHit]:
    for member in repository.members:
        card = repository.card(member.folder)
        declared = set() if card is None else {base.lower() for base in card.base_models}
        if card is None or not declared or not member.bases:
            continue
        if declared.isdisjoint(base.lower() for base in member.bases):
            expected, actual = ", ".join(card.base_models), ", ".join(member.bases)
            yield RepositoryHit(
                f"{member.name} is made from {actual}, {card.path} says {expected}.",
                (member.path, card.path),
                expected=expected,
                actual=actual,
            )


@repository_rule(
    "AUD012",
    "The hub declares other facts than the file",
    Severity.INFO,
    Truth.ADVICE,
    needs=LISTING,
    help="The hub shows one architecture, context length and number of parameters for a "
    "repository, read from one of its files. This file says otherwise, so what visitors see is "
    "not true of it.",
    fix="Replace the file that is out of date, or give the other model its own repository.",
    failing=lambda: {"hub.json": b'{"architecture": "gemma3"}', "one.gguf": llama()},
    passing=lambda: {"hub.json": b'{"architecture": "llama"}', "one.gguf": llama()},
)
def drifted(repository: Repository) -> Iterator[RepositoryHit]:
    declared = repository.declared
    for member in repository.members:
        if member.kind != "model" or member.role != "model" or member.error is not None:
            continue
        for what, words, actual in (
            ("architecture", "architecture", member.architecture),
            ("context_length", "context length", member.context.get("context_length")),
            ("total", "number of parameters", member.parameters),
        ):
            expected = declared.get(what)
            if expected is not None and actual is not None and str(expected) != str(actual):
                yield RepositoryHit(
                    f"The hub declares the {words} {expected}, {member.name} says {actual}.",
                    (member.path,),
                    expected=str(expected),
                    actual=str(actual),
                )


@repository_rule(
    "AUD013",
    "Pointer instead of the file",
    Severity.ERROR,
    Truth.INVALID,
    needs=LISTING,
    help="What lies here is the small text that git keeps in place of a large file. The file "
    "itself was never uploaded, or was copied without it.",
    fix="Run `git lfs pull`, or upload the file again.",
    failing=lambda: {"one.gguf": POINTER},
    passing=_two_models,
)
def pointer(repository: Repository) -> Iterator[RepositoryHit]:
    for member in repository.members:
        if member.error == "lfs_pointer":
            yield RepositoryHit(f"{member.path} is a pointer of git LFS.", (member.path,))


_PIECE = re.compile(r"(.+\.gguf)", re.IGNORECASE)


@repository_rule(
    "AUD014",
    "File cut into pieces",
    Severity.ERROR,
    Truth.INVALID,
    needs=LISTING,
    help="The file was cut at any byte, as old uploads did because of size limits. No loader puts "
    "pieces together; only shards made by llama-gguf-split load as they are.",
    fix="Join the pieces (`cat NAME.gguf.* > NAME.gguf`) and split with llama-gguf-split.",
    failing=lambda: {
        "one.gguf": llama(),
        "big.gguf.part1of2": llama()[:64],
        "big.gguf.part2of2": llama()[64:],
    },
    passing=_two_models,
)
def pieces(repository: Repository) -> Iterator[RepositoryHit]:
    whole: dict[str, list[str]] = defaultdict(list)
    for part in repository.parts:
        match = _PIECE.match(part.path)
        whole[match[1] if match else part.path].append(part.path)
    for name, paths in sorted(whole.items()):
        count = f"{len(paths)} piece{'' if len(paths) == 1 else 's'}"
        yield RepositoryHit(f"{name} lies here in {count}.", tuple(sorted(paths)[:MOST_PATHS]))


@repository_rule(
    "AUD015",
    "Shards are missing",
    Severity.ERROR,
    Truth.INVALID,
    needs=LISTING,
    help="The names of the shards tell how many there are, and the listing does not hold all of "
    "them. The model cannot be loaded, whatever is in those that are there.",
    fix="Upload the missing shards.",
    failing=lambda: {"big-00001-of-00003.gguf": llama(), "big-00003-of-00003.gguf": llama()},
    passing=_two_models,
)
def missing_shards(repository: Repository) -> Iterator[RepositoryHit]:
    for member, names in _split_members(repository):
        total = names[0].shards
        present = {name.number for name in names}
        absent = [n for n in range(1, min(total, 512) + 1) if n not in present]
        if absent:
            yield RepositoryHit(
                f"{len(absent)} of {total} shards of {member.name} are not there: "
                f"{listed([names[0].sibling(number) for number in absent])}.",
                (member.path,),
                expected=f"{total} files",
                actual=f"{len(present)} files",
            )


def _split_members(repository: Repository) -> Iterator[tuple[Member, list[ShardName]]]:
    for member in repository.members:
        names = [name for file in member.files if (name := shard_name(file.name)) is not None]
        if names:
            yield member, names


@repository_rule(
    "AUD016",
    "Shards under odd names",
    Severity.WARNING,
    Truth.ADVICE,
    needs=LISTING,
    help="Two sets of shards of one name but different counts lie in one folder, a shard has the "
    "number 0 or one past the count, or the whole file lies beside its shards. Which of them a "
    "program takes depends on the program.",
    fix="Delete the set that is out of date.",
    failing=lambda: {"big-00001-of-00001.gguf": llama(), "big.gguf": llama()},
    passing=_two_models,
)
def odd_shards(repository: Repository) -> Iterator[RepositoryHit]:
    paths = {file.path for file in repository.stored}
    counts: dict[tuple[str, str], list[tuple[int, str]]] = defaultdict(list)
    for member, names in _split_members(repository):
        first = names[0]
        counts[member.folder, first.prefix].append((first.shards, member.path))
        for name in names:
            if not 1 <= name.number <= name.shards:
                message = f"{name.sibling(name.number)} has a number outside 1 to {name.shards}."
                yield RepositoryHit(message, (member.path,), actual=str(name.number))
    for (folder, prefix), sets in counts.items():
        place = f"{folder}/{prefix}" if folder else prefix
        if len(sets) > 1:
            shown = ", ".join(f"{count} shards" for count, _ in sorted(sets))
            yield RepositoryHit(
                f"{place} is there more than once: in {shown}.",
                tuple(path for _, path in sorted(sets))[:MOST_PATHS],
            )
        if f"{place}.gguf" in paths:
            message = f"{place}.gguf lies beside its own shards."
            yield RepositoryHit(message, (f"{place}.gguf", sets[0][1]))


def _manifest(name: bytes, digest: bytes) -> dict[str, bytes]:
    return {"one.gguf": small_model().build(), "SHA256SUMS": digest + b"  " + name + b"\n"}


@repository_rule(
    "AUD017",
    "Declared digests contradict each other",
    Severity.ERROR,
    Truth.ADVICE,
    needs=LISTING,
    help="A checksum file, the hub and the bytes that were read name different digests for one "
    "file. It was replaced without its checksum file, or it is not the one that was published.",
    fix="Find out which file is meant, then replace it or correct the checksum file.",
    failing=lambda: _manifest(b"one.gguf", b"0" * 64),
    passing=_two_models,
)
def contradicted(repository: Repository) -> Iterator[RepositoryHit]:
    for file in repository.stored:
        values: dict[str, dict[str, str]] = defaultdict(dict)
        for digest in (*file.digests, *_in_manifests(repository, file)):
            values[digest.algorithm].setdefault(digest.value, digest.basis)
        for algorithm, bases in values.items():
            if len(bases) > 1:
                told = [f"{value[:16]}… ({basis})" for value, basis in bases.items()]
                yield RepositoryHit(
                    f"{len(bases)} different {algorithm} digests are declared for {file.path}.",
                    (file.path,),
                    expected=told[0],
                    actual=", ".join(told[1:]),
                )


def _in_manifests(repository: Repository, file: Entry) -> Iterator[Digest]:
    """What the checksum files in the file's folder, or above it, say about it."""
    for path, manifest in repository.manifests.items():
        below = inside(path, file.path)
        for entry in manifest.about(below) if below is not None else ():
            yield Digest(entry.algorithm, entry.value, f"in {path}")


@repository_rule(
    "AUD018",
    "Checksum file and listing disagree",
    Severity.INFO,
    Truth.ADVICE,
    needs=LISTING,
    help="A checksum file names files that are not there, or has lines that cannot be read or "
    "lead out of its folder. Who checks a download with it is told of an error that is none, or "
    "is not told of one.",
    fix="Write the checksum file anew (`sha256sum *.gguf > SHA256SUMS`).",
    failing=lambda: _manifest(b"gone.gguf", b"0" * 64),
    passing=_two_models,
)
def stale_manifest(repository: Repository) -> Iterator[RepositoryHit]:
    present = {file.path for file in repository.files} | {f.path for f in repository.stored}
    for path, manifest in sorted(repository.manifests.items()):
        folder = path.rpartition("/")[0]
        names = {entry.name for entry in manifest.entries if entry.name.endswith(".gguf")}
        gone = sorted(n for n in names if (f"{folder}/{n}" if folder else n) not in present)
        if gone:
            message = f"{path} names files that are not there: {listed(gone)}."
            yield RepositoryHit(message, (path,), actual=f"{len(gone)} files")
        if manifest.problems:
            message = f"{path}: {listed(manifest.problems)}."
            yield RepositoryHit(message, (path,), actual=f"{len(manifest.problems)} lines")
