"""Parts that meet foreign text on their own: names, templates, heads of HTTP answers, old files.

    python -m tests.fuzz.parts [SECONDS for each]

Prints for each part how many inputs it saw, how many of them failed in a way no caller expects
(none may), and the slowest. Exit code 1 on a failure, or on an input that took too long.
"""

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
from ggufhub.names import parse_name
from ggufhub.rules import legacy_samples
from ggufhub.sources import answers
from ggufhub.templating import source
from ggufhub.templating.environment import build_environment
from tests.core.reading import report

SLOWEST_SECONDS = 2.0
"""Old files are tried in several ways, each to its end; all else takes milliseconds."""

NAME_WORDS = (
    *("Llama", "8x7B", "70B", "1.5b", "Q4_K_M", "IQ1_S", "BF16", "v0.3", "Instruct", "00001", "of"),
    *("00002", ".gguf", "-", "--", ".", "_", "/", "hf://", "ollama://", "@", ":", "?", "#", "%2e"),
    *("..", "mmproj", "LoRA", "vocab", "\u0130", "\u2167", "\ud800", "\x00", "９", "²", "A" * 300),
)
TEMPLATE_WORDS = (
    *("{{", "}}", "{%", "%}", "{#", "#}", "for m in messages", "endfor", "if", "endif", "elif"),
    *(
        "m.role",
        "m['content']",
        "set x = ",
        "macro f(a)",
        "endmacro",
        "f(1)",
        "|",
        "tojson",
        "join",
    ),
    *("__class__", "~", "+", "*", "'__cl'", "'ass__'", "[::-1]", "9**9", "range(9)", "loop.index"),
    *(
        "namespace()",
        "raise_exception('x')",
        "generation",
        "endgeneration",
        "- ",
        " ",
        "\n",
        '"',
        "'",
    ),
    *(
        "http://a.example/x",
        "\u202e",
        "A" * 200,
        "is defined",
        "and",
        "not",
        "(",
        ")",
        "[",
        "]",
        ",",
    ),
    *("strftime_now('%Y')", "include 'x'", "import 'x' as y", "0x", "1e999", "\\", "attr('x')"),
)
HEADERS = (
    *("Content-Range", "Content-Length", "Content-Encoding", "ETag", "Last-Modified", "Digest"),
    *(
        "Retry-After",
        "RateLimit",
        "X-Linked-Etag",
        "X-Linked-Size",
        "X-Repo-Commit",
        "X-Error-Code",
    ),
    *("Repr-Digest", "Content-Digest", "Content-MD5", "x-goog-hash", "x-amz-checksum-sha256"),
    *("x-amz-version-id", "x-goog-generation", "x-amz-checksum-crc32", "x-ms-blob-content-md5"),
)
HEADER_WORDS = (
    *(
        "bytes ",
        "0-",
        "99",
        "/",
        "*",
        "100",
        "-1",
        "²",
        "9" * 30,
        '"',
        "W/",
        "sha256:",
        "a" * 64,
        ",",
    ),
    *(
        "sha-256=:",
        "md5=",
        "crc32c=",
        "==",
        ":",
        ";",
        "t=",
        "r=0",
        "gzip",
        "identity",
        "\ud800",
        "\xff",
    ),
    *("Wed, 21 Oct 2099 07:28:00 GMT", "Wed, 99 Foo 0000 99:99:99", "GatedRepo", "null", " ", "\t"),
)

Part = tuple[Callable[[random.Random], object], Callable[..., None]]


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
        f"{maker.choice(HEADERS)}: {words(maker, HEADER_WORDS, 6)}".encode("latin-1", "replace")
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
    "names": (lambda maker: words(maker, NAME_WORDS, 14), try_name),
    "templates": (lambda maker: words(maker, TEMPLATE_WORDS, 30), try_template),
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
    seconds, good = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0, True
    for name, part in PARTS.items():
        seen = [0]
        found = failures(part, random.Random(75), until(seconds, seen))
        print(f"{name:<18} {seen[0]:>10,} inputs, {len(found)} failures", flush=True)
        for how, given in found[:5]:
            print(f"  {how}: {given!r}"[:500])
        good &= not found
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
