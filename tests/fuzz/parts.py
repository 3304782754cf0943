"""Parts that meet foreign bytes on their own: the reader, names, templates, heads of HTTP answers.

    python -m tests.fuzz.parts [SECONDS for each] [--seed N] [--only PART]

Prints for each part how many inputs it saw and how many of them failed in a way no caller expects:
none may. An input that takes too long has failed, too. Exit code 1 on a failure.
"""

import argparse
import io
import random
import sys
import time
from collections.abc import Callable, Iterator
from datetime import date
from email.message import Message
from http.client import parse_headers

from jinja2 import TemplateError, nodes

from ggufhub.errors import GgufHubError
from ggufhub.formats.model_names import parse_model_name
from ggufhub.formats.naming import block_and_role, shard_name
from ggufhub.formats.values import ByteOrder, ValueType
from ggufhub.names import parse_name
from ggufhub.rules import legacy_samples
from ggufhub.sources import answers
from ggufhub.templating import source
from ggufhub.templating.environment import build_environment
from tests.builders import Gguf
from tests.core.reading import read, report
from tests.fuzz.mutants import VARIANTS, fields, mutant, seed
from tests.fuzz.words import HEADER_VALUES, HEADERS, NAMES, TEMPLATES

SLOWEST_SECONDS = 2.0
"""Old files are tried in several ways, each to its end; all else takes milliseconds."""

Part = tuple[Callable[[random.Random], object], Callable[..., None]]


_SMALL = [
    *(Gguf().key("a", 1, kind).build() for kind in ValueType if kind < ValueType.STRING),
    Gguf().key("a", "b").build(),
    Gguf(version=1).key("a", "b").build(),
    Gguf(version=2, order=ByteOrder.BIG).key("a", "b").build(),
    Gguf().array("a", ValueType.STRING, ["b", "c"]).build(),
    Gguf().array("a", ValueType.INT16, [1, 2]).build(),
    Gguf().tensor("a", (32, 2), 2).build()[:96],
]
"""The smallest files there are of each kind, so that a byte that is changed matters."""

_BYTES = (0, 1, 2, 4, 8, 9, 31, 32, 64, 127, 128, 254, 255)


def make_plain(maker: random.Random) -> bytes:
    """A small file with any of its bytes after the magic changed, perhaps cut."""
    data = bytearray(maker.choice(_SMALL))
    for _ in range(maker.choice((1, 1, 2, 3))):
        at = 4 + int(maker.random() * (len(data) - 4))
        data[at] = maker.choice(_BYTES) if maker.random() < 0.5 else int(256 * maker.random())
    if maker.random() < 0.1:
        del data[int(maker.random() * len(data)) :]
    return bytes(data)


_SEEDS = [
    (data, fields(read(data), len(data)), order)
    for data, order in ((seed(version, order), order) for version, order in VARIANTS)
]


def make_spoilt(maker: random.Random) -> bytes:
    """A file with every kind of field, of which some numbers are spoilt."""
    return mutant(*maker.choice(_SEEDS), maker)


def try_reader(data: bytes) -> None:
    header = read(data)
    assert header.size == len(data)
    assert all(key.end <= len(data) for key in header.keys)
    assert all(tensor.span.end <= len(data) for tensor in header.tensors)


def words(maker: random.Random, vocabulary: tuple[str, ...], most: int) -> str:
    """Some words in a row, sometimes with a character of any kind between them."""
    chosen = [maker.choice(vocabulary) for _ in range(maker.randrange(most))]
    if maker.random() < 0.3:
        chosen.insert(maker.randrange(len(chosen) + 1), chr(maker.randrange(0x11_0000)))
    return "".join(chosen)


def try_name(text: str) -> None:
    parse_model_name(text)
    shard_name(text)
    block_and_role(text)
    parse_name(text)


_ENVIRONMENT = build_environment(date(2026, 1, 1))


def try_template(text: str) -> None:
    try:
        tree: nodes.Template = _ENVIRONMENT.parse(text)
    except (TemplateError, RecursionError):
        return
    for note in source.look(_ENVIRONMENT, text, tree):
        assert note["line"] >= 1 and note["what"]


def make_head(maker: random.Random) -> bytes:
    """The lines of a head as a server may send them: any bytes."""
    lines = [
        f"{maker.choice(HEADERS)}: {words(maker, HEADER_VALUES, 6)}".encode("latin-1", "replace")
        for _ in range(maker.randrange(6))
    ]
    return b"\r\n".join([*lines, b"", b""])


def try_head(data: bytes) -> None:
    head: Message = parse_headers(io.BytesIO(data))
    answers.version(head)
    answers.content_range(head)
    for name in HEADERS:
        answers.whole_number(head, name)
    answers.check_encoding(head)
    answers.linked_digests([head])
    answers.server_digests(head, whole=True)
    for status in (400, 403, 429, 503):
        refused = answers.refusal(status, head)
        wait = refused.retry_after
        assert wait is None or 0 <= wait <= answers.LONGEST_WAIT


_OLD = [
    legacy_samples.small_llama().build(),
    legacy_samples.small_llama(b"fmgg", 1).build(),
    legacy_samples.small_llama(b"lmgg", None).build(),
    legacy_samples.gpt_2().build(),
    legacy_samples.adapter().build(),
    legacy_samples.imatrix_dat(),
    legacy_samples.llamafile(legacy_samples.small_llama().build()),
]
_NUMBERS = (0, 1, 2, 3, 7, 31, 255, 65_535, 1 << 20, (1 << 31) - 1, 1 << 31, (1 << 32) - 1)


def make_old(maker: random.Random) -> bytes:
    """A sound old file with some of its numbers spoilt, cut, or followed by something."""
    data = bytearray(maker.choice(_OLD))
    for _ in range(maker.choice((1, 1, 2, 4))):
        at = maker.randrange(len(data)) & ~3
        data[at : at + 4] = maker.choice(_NUMBERS).to_bytes(4, "little")
    if maker.random() < 0.2:
        del data[maker.randrange(len(data)) :]
    if maker.random() < 0.1:
        data += maker.randbytes(maker.randrange(64))
    return bytes(data)


def try_old(data: bytes) -> None:
    document = report(data).document
    assert document["verdict"] in ("pass", "warn", "fail", "unreadable")
    assert not [one for one in document["not_evaluated"] if "failed" in one["reason"]]


PARTS: dict[str, Part] = {
    "reader, any bytes": (make_plain, try_reader),
    "reader, fields": (make_spoilt, try_reader),
    "names": (lambda maker: words(maker, NAMES, 14), try_name),
    "templates": (lambda maker: words(maker, TEMPLATES, 30), try_template),
    "heads of answers": (make_head, try_head),
    "old files": (make_old, try_old),
}


def failures(
    part: Part, maker: random.Random, inputs: Iterator[object]
) -> list[tuple[str, object]]:
    """The inputs that failed in a way no caller expects, or took too long; and how."""
    make, attempt = part
    found: list[tuple[str, object]] = []
    for _ in inputs:
        given = make(maker)
        began = time.process_time()
        try:
            attempt(given)
        except GgufHubError:
            continue
        except Exception as error:  # of any kind: that is what is looked for
            found.append((f"{type(error).__name__}: {error}", given))
        if (took := time.process_time() - began) > SLOWEST_SECONDS:
            found.append((f"{took:.1f} s of CPU", given))
    return found


def until(seconds: float, seen: list[int]) -> Iterator[object]:
    """Go on for ``seconds``; ``seen`` counts the rounds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        seen[0] += 1
        yield None


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.parts")
    parser.add_argument("seconds", type=float, nargs="?", default=60.0)
    parser.add_argument("--seed", type=int, default=75)
    parser.add_argument("--only", choices=PARTS, help="this part alone")
    options = parser.parse_args()
    good = True
    for name in [options.only] if options.only else PARTS:
        seen = [0]
        found = failures(PARTS[name], random.Random(options.seed), until(options.seconds, seen))
        print(f"{name:<18} {seen[0]:>11,} inputs, {len(found)} failures", flush=True)
        for how, given in found[:5]:
            print(f"  {how}: {given!r}"[:500])
        good &= not found
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
