"""Split models: do the shards on hand make one whole model?

What the reference demands: ``src/llama-model-loader.cpp`` and ``llama_split_path`` of llama.cpp
0c1e57098. Its own merge tool checks far less, so a bad set can become one bad file.
"""

from collections.abc import Iterator

from ggufhub.formats.detect import PART
from ggufhub.formats.header import Header, Key, Span
from ggufhub.formats.model import Model, ModelFile
from ggufhub.formats.naming import shard_name
from ggufhub.formats.values import ValueType
from ggufhub.rules.registry import Hit, Need, Severity, Truth, file_rule, model_rule
from ggufhub.rules.samples import Gguf

NUMBER, COUNT, TENSORS = "split.no", "split.count", "split.tensors.count"

KEY_TYPES = {NUMBER: ValueType.UINT16, COUNT: ValueType.UINT16, TENSORS: ValueType.INT32}
"""Types as the writers store them; the loader accepts no other."""

_SPLIT_KEYS = frozenset(KEY_TYPES)


def sample_shard(number: int, count: int = 2, tensors: int = 2, *, extra: int = 0) -> Gguf:
    """One shard of a small split model: the first carries the metadata."""
    shard = Gguf()
    if number == 0:
        shard.key("general.architecture", "llama").key("general.name", "Sample")
    shard.key(NUMBER, number, ValueType.UINT16).key(COUNT, count, ValueType.UINT16)
    shard.key(TENSORS, tensors + extra, ValueType.INT32)
    return shard.tensor(f"blk.{number}.attn_norm.weight", (32,))


def _set(*shards: Gguf) -> dict[str, bytes]:
    names = [f"m-{number + 1:05d}-of-{len(shards):05d}.gguf" for number in range(len(shards))]
    return {name: shard.build() for name, shard in zip(names, shards, strict=True)}


def good_set() -> dict[str, bytes]:
    """Two shards that belong together."""
    return _set(sample_shard(0), sample_shard(1))


@file_rule(
    "SPL001",
    "Shard under a name that loaders refuse",
    Severity.ERROR,
    Truth.INVALID,
    needs=(Need.KEYS,),
    help="The file says it is one of several shards. Loaders find the others by name, and only by "
    "names like `model-00001-of-00003.gguf`: five digits each, numbered from 1. Shards joined "
    "with `cat`, or renamed, do not load.",
    fix="Give the shards their original names, or merge them with llama-gguf-split --merge.",
    failing=lambda: {"model.gguf": sample_shard(0).build()},
    passing=good_set,
)
def unusable_name(file: ModelFile) -> Iterator[Hit]:
    header = _header(file)
    count = header.number(COUNT) or 0
    name = shard_name(file.name)
    if count > 1 and (name is None or not 1 <= name.number <= name.shards):
        key = header.find(COUNT)
        assert key is not None
        yield Hit.at_key(
            key,
            f"The file is one of {count} shards, but its name does not say which.",
            expected=f"<name>-00001-of-{count:05d}.gguf and so on",
            actual=file.name,
        )


@file_rule(
    "SPL002",
    "Shard numbers disagree",
    Severity.ERROR,
    Truth.INVALID,
    needs=(Need.KEYS,),
    help="The number and count in a shard's name must equal its keys `split.no` (from 0, uint16) "
    "and `split.count` (uint16). Loaders compare the number of every shard and the count of the "
    "first; a wrong type in a later shard even aborts the whole program.",
    fix="Put the right shard under the right name; most often two files were swapped.",
    failing=lambda: _set(sample_shard(0), sample_shard(0)),
    passing=good_set,
)
def wrong_numbers(file: ModelFile) -> Iterator[Hit]:
    header, name = _header(file), shard_name(file.name)
    for key_name, kind in KEY_TYPES.items():
        key = header.find(key_name)
        if key is not None and key.type is not kind:
            yield Hit.at_key(
                key,
                f"{key_name} is of type {key.type_label}.",
                expected=kind.label,
                actual=key.type_label,
            )
    if name is None or name.shards < 2:
        return
    number = header.find(NUMBER)
    if number is None:
        yield Hit("The shard has no split.no.", key=NUMBER, expected=str(name.number - 1))
    elif header.number(NUMBER) != name.number - 1:
        yield _disagreement(number, f"{name.number - 1}, from the file name", Severity.ERROR)
    count = header.find(COUNT)
    if count is not None and header.number(COUNT) != name.shards:
        # The loader believes the first shard and never looks at this key in the others.
        severity = Severity.ERROR if name.number == 1 else Severity.WARNING
        yield _disagreement(count, f"{name.shards}, from the file name", severity)


def _disagreement(key: Key, expected: str, severity: Severity) -> Hit:
    return Hit.at_key(
        key,
        f"{key.name} is {key.value!r}.",
        expected=expected,
        actual=str(key.value),
        severity=severity,
    )


@model_rule(
    "SPL003",
    "Shard missing or empty",
    Severity.ERROR,
    Truth.INVALID,
    needs=(),
    help="A split model loads only when every shard lies beside the first one. An upload or "
    "download of a large model often loses one.",
    fix="Fetch the missing shard into the same folder.",
    failing=lambda: {"m-00001-of-00002.gguf": sample_shard(0).build()},
    passing=good_set,
)
def missing_shard(model: Model) -> Iterator[Hit]:
    for name, error in model.missing.items():
        if error.code == "not_found":  # any other reason does not prove that it is missing
            yield Hit(f"The shard {name} is not there.", key=COUNT, expected=name, actual="absent")
    for file in model.files:
        if file.size == 0 and len(model.files) > 1:
            yield Hit(
                f"The shard {file.name} is empty.", key=COUNT, expected="a shard", actual="0 bytes"
            )


@model_rule(
    "SPL004",
    "Not the first shard",
    Severity.INFO,
    Truth.PORTABILITY,
    needs=(Need.KEYS,),
    help="Programs open a split model by its first shard, which holds the metadata. ggufhub found "
    "the others by name and inspected the whole model.",
    fix="Give programs the first shard.",
    failing=lambda: dict(reversed(good_set().items())),
    passing=good_set,
)
def later_shard(model: Model) -> Iterator[Hit]:
    header = model.opened.header
    key = None if header is None else header.find(NUMBER)
    if key is not None and header is not None and (header.number(NUMBER) or 0) > 0:
        yield Hit.at_key(
            key,
            f"{model.opened.name} is a later shard of the model.",
            expected="0",
            actual=str(key.value),
        )


@model_rule(
    "SPL005",
    "Number of tensors does not add up",
    Severity.ERROR,
    Truth.INVALID,
    needs=(Need.TENSORS, Need.SHARDS),
    help="`split.tensors.count` in the first shard counts the tensors of all shards. Where it is "
    "absent or differs, a shard is from another model or another run, and loaders refuse the set.",
    fix="Fetch all shards again from one place.",
    failing=lambda: _set(sample_shard(0, extra=1), sample_shard(1)),
    passing=good_set,
)
def wrong_total(model: Model) -> Iterator[Hit]:
    if len(model.files) < 2:
        return
    total, key = len(model.tensors), model.find(TENSORS)
    if key is None:
        yield Hit("The first shard has no split.tensors.count.", key=TENSORS, expected=f"{total}")
    elif key.value != total:
        yield Hit.at_key(
            key,
            f"The shards hold {total:,} tensors, not {key.value!r}.",
            expected=str(key.value),
            actual=str(total),
        )


@file_rule(
    "SPL006",
    "Part of a file cut by bytes",
    Severity.ERROR,
    Truth.INVALID,
    needs=(Need.HEAD,),
    help="The name says that this is one piece of a file that was cut anywhere to fit an upload "
    "limit. Such pieces are no shards: only joined in order do they make a model.",
    fix="Join all parts in order, for example with `cat`, and inspect the whole.",
    failing=lambda: {"m.gguf.part1of2": Gguf().key("a", 1).build()},
    passing=good_set,
)
def byte_part(file: ModelFile) -> Iterator[Hit]:
    if file.form is PART:
        yield Hit(f"{file.name} is one part of a larger file.", Span(0, min(4, file.size or 0)))


@model_rule(
    "SPL007",
    "Shards of different kinds",
    Severity.WARNING,
    Truth.PORTABILITY,
    needs=(Need.KEYS,),
    help="All shards of a model are written in one go: same version, same byte order, same "
    "alignment where they state one. A difference means that shards of two runs were mixed.",
    fix="Fetch all shards again from one place.",
    failing=lambda: _set(sample_shard(0), _with_version(sample_shard(1), 2)),
    passing=good_set,
)
def mixed_shards(model: Model) -> Iterator[Hit]:
    first = model.header
    assert first is not None
    for file in model.files[1:]:
        header = file.header
        if header is None:
            continue
        for what, ours, theirs in (
            ("version", first.version, header.version),
            ("byte order", _order(first), _order(header)),
            ("alignment", first.number("general.alignment"), header.number("general.alignment")),
        ):
            if ours is not None and theirs is not None and ours != theirs:
                yield Hit(
                    f"The {what} of {file.name} differs from the first shard's.",
                    key="general.alignment" if what == "alignment" else NUMBER,
                    expected=str(ours),
                    actual=str(theirs),
                )


@model_rule(
    "SPL008",
    "Shards contradict each other",
    Severity.WARNING,
    Truth.PORTABILITY,
    needs=(Need.KEYS,),
    help="Loaders read metadata from the first shard alone. A later shard that repeats a key with "
    "another value belongs to another model.",
    fix="Fetch all shards again from one place.",
    failing=lambda: _set(sample_shard(0), sample_shard(1).key("general.name", "Other")),
    passing=good_set,
)
def contradiction(model: Model) -> Iterator[Hit]:
    for file in model.files[1:]:
        for key in file.keys:
            ours = model.find(key.name)
            if key.name in _SPLIT_KEYS or ours is None or key.array is not None:
                continue
            if ours.type is not key.type or ours.value != key.value:
                yield Hit.at_key(key, f"{key.name} in {file.name} differs from the first shard's.")


def _header(file: ModelFile) -> Header:
    assert file.header is not None
    return file.header


def _order(header: Header) -> str | None:
    return None if header.byte_order is None else header.byte_order.value


def _with_version(shard: Gguf, version: int) -> Gguf:
    shard.version = version
    return shard
