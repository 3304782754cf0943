"""Checksum files: SHA256SUMS, model.gguf.sha256, the BSD form, llama-gguf-hash manifests."""

import re
from dataclasses import dataclass, field

ALGORITHMS = {
    32: "md5",
    40: "sha1",
    56: "sha224",
    64: "sha256",
    96: "sha384",
    128: "sha512",
}
"""Digest algorithms by the number of hex digits."""

GENERAL_NAMES = frozenset(
    {
        "sha256sums", "sha256sums.txt", "sha256sum.txt", "sha256.txt", "sha512sums", "md5sums",
        "checksums.txt", "checksums", "checksum.txt", "checksums.sha256", "checklist.chk",
    }
)  # fmt: skip
"""Names of manifests of a whole folder, in lower case."""

OWN_SUFFIXES = (".sha256", ".sha256sum", ".sha512", ".sha1", ".md5", ".manifest")
"""What is added to a file's name to name the manifest of that file."""

MOST_LINES = 100_000
"""Lines read from one manifest; a listing of tensors holds three for each."""

_GNU = re.compile(r"(\\?)([0-9A-Fa-f]{32,128})(?:[ \t]+\*?(.+))?")
_BSD = re.compile(r"([A-Za-z][A-Za-z0-9/-]{1,23}) ?\((.+)\) ?= ?([0-9A-Fa-f]{8,256})")
_TENSORS = re.compile(r"(xxh64|sha1|sha256|uuid) {2,}([0-9a-f-]{16,64}) {2}(.+)")
_ESCAPES = {"\\\\": "\\", "\\n": "\n", "\\r": "\r"}


@dataclass(frozen=True, slots=True)
class Entry:
    """One digest of one file, or of its data; ``algorithm`` may be one that nobody here knows.

    ``tensors`` marks what llama-gguf-hash prints: digests of tensor data, which say nothing about
    the bytes of the file as a whole. Such a name is the file's path where the tool ran, or that
    with a colon and the name of a tensor.
    """

    name: str
    algorithm: str
    value: str
    tensors: bool = False


@dataclass(slots=True)
class Manifest:
    """What a checksum file holds, and the lines that make no sense."""

    entries: list[Entry] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def about(self, name: str) -> list[Entry]:
        """The digests of the file called ``name`` in the manifest's own folder."""
        return [entry for entry in self.entries if entry.name == name and not entry.tensors]

    def tensors_of(self, name: str) -> dict[tuple[str, str], str]:
        """Digests of the tensor data of the file called ``name``, by tensor and algorithm; the
        empty name stands for all tensors as one."""
        whole = re.compile(rf"(?:.*[/\\])?{re.escape(name)}(?::(.*))?", re.DOTALL)
        # Asked once for each shard, of which most lines say nothing: the plain search is quicker.
        about = [entry for entry in self.entries if entry.tensors and name in entry.name]
        pairs = [(whole.fullmatch(entry.name), entry) for entry in about]
        return {(match[1] or "", entry.algorithm): entry.value for match, entry in pairs if match}


def is_manifest(name: str, file: str) -> bool:
    """Whether ``name`` is a checksum file that may speak about ``file``."""
    own = [file + suffix for suffix in OWN_SUFFIXES]
    return name.lower() in GENERAL_NAMES or name in [*own, file.removesuffix(".gguf") + ".manifest"]


def parse_manifest(text: str, name: str) -> Manifest:
    """Read ``text``; ``name`` is the manifest's own, which tells what a bare digest is of."""
    manifest = Manifest()
    seen: dict[tuple[str, str, bool], str] = {}
    about = next((name[: -len(end)] for end in OWN_SUFFIXES if name.endswith(end)), "")
    for number, line in enumerate(text.lstrip("\ufeff").splitlines()[:MOST_LINES], 1):
        if not line.strip() or line.lstrip().startswith(("#", ";")):
            continue
        entry = _entry(line.rstrip(), about)
        if entry is None:
            manifest.problems.append(f"line {number} is no digest of a file beside the manifest")
            continue
        known = seen.setdefault((entry.name, entry.algorithm, entry.tensors), entry.value)
        if known != entry.value:
            manifest.problems.append(f"line {number} gives {entry.name} a second digest")
        elif len(seen) > len(manifest.entries):
            manifest.entries.append(entry)
    return manifest


def _entry(line: str, about: str) -> Entry | None:
    tensors = _TENSORS.fullmatch(line)
    if tensors:
        # Its name is only compared, never opened, so it may lead anywhere.
        return Entry(tensors[3], tensors[1], tensors[2].lower(), tensors=True)
    bsd = _BSD.fullmatch(line)
    if bsd:
        algorithm = bsd[1].lower()
        known = ALGORITHMS.get(len(bsd[3])) == algorithm or algorithm not in ALGORITHMS.values()
        return _named(bsd[2], algorithm, bsd[3]) if known else None
    gnu = _GNU.fullmatch(line)
    if gnu is None or len(gnu[2]) not in ALGORITHMS:
        return None
    name = gnu[3] or about
    if gnu[1]:
        name = re.sub(r"\\[\\nr]", lambda match: _ESCAPES[match[0]], name)
    return _named(name, ALGORITHMS[len(gnu[2])], gnu[2])


def _named(name: str, algorithm: str, value: str) -> Entry | None:
    """The entry, unless its name leads out of the folder the manifest lies in."""
    name = name.removeprefix("./")
    if not name or name.startswith(("/", "~")) or ".." in re.split(r"[/\\]", name):
        return None
    return Entry(name, algorithm, value.lower())
