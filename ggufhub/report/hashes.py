"""The digests of a model's tensors, as llama-gguf-hash prints them."""

from collections.abc import Sequence

from ggufhub.errors import SourceError
from ggufhub.formats.load import load_model
from ggufhub.integrity.full_read import read_whole
from ggufhub.integrity.tensor_digests import PRINTED, UUID5, manifest_lines
from ggufhub.limits import FULL, Limits
from ggufhub.report.codec import safe_name
from ggufhub.report.run import addresses
from ggufhub.sources.open import is_remote, open_source


def printed_hashes(source: str, networks: Sequence[str] = ()) -> str:
    """A manifest of every file of the model, every byte of which is read.

    Whoever writes it beside the file (``model.gguf.manifest``) has it compared from then on.
    ``SourceError`` for a source that cannot be read, and for one of which a shard or the data of
    a tensor is missing.
    """
    limits = Limits().for_depth(FULL)
    allowed = addresses(networks) if is_remote(source) else None
    with open_source(source, policy=allowed, limits=limits) as opened:
        model = load_model(opened, limits)
        for error in model.missing.values():
            raise error  # a manifest of a part would pass for one of the whole
        for file in model.files:
            file.manifest = {("", algorithm): "" for algorithm in (*PRINTED, UUID5)}
        read_whole(model, opened, lambda done, total: None)
    lines: list[str] = []
    for file in model.files:
        rows = [(safe_name(one.tensor.name), one.digests) for one in file.data]
        lines += manifest_lines(safe_name(file.name), rows, file.tensor_digests)
    whole = all(len(file.data) == len(file.tensors) for file in model.files)
    if not lines or not whole:
        raise SourceError("not_gguf", f"{source} is no GGUF model whose tensors are all there.")
    return "".join(f"{line}\n" for line in lines)
