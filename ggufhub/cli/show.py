"""`ggufhub show`: look inside one model."""

import argparse
import sys
from typing import TYPE_CHECKING, Any

from ggufhub.cli.codes import CLEAN, UNREADABLE
from ggufhub.cli.screen import add_output, colours, output
from ggufhub.cli.targets import add_network

if TYPE_CHECKING:
    from ggufhub.estimate.cache import Setting
    from ggufhub.estimate.fit import Quant
    from ggufhub.estimate.placement import Placement

Document = dict[str, Any]

PARTS = ("mmproj", "adapter", "draft")
"""What may be loaded beside a model."""


def add(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("show", help="look inside one model")
    parser.add_argument("source", metavar="SOURCE", help="a path or link")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--json", action="store_true", help="everything, as one JSON object")
    what.add_argument("--tensors", action="store_true", help="the tensor table")
    what.add_argument("--template", action="store_true", help="the chat templates")
    what.add_argument("--memory", action="store_true", help="what it takes to run")
    what.add_argument("--sizes", action="store_true", help="its size in every quant")
    what.add_argument(
        "--hashes",
        action="store_true",
        help="digests of the tensors, as llama-gguf-hash prints them; reads every byte",
    )
    _add_memory(parser)
    add_output(parser)
    add_network(parser)
    parser.set_defaults(run=run)


def _add_memory(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("with --memory: how it is run")
    group.add_argument("--context", type=int, metavar="N", help="tokens; all by default")
    group.add_argument(
        "--fit",
        metavar="SIZE",
        help="what fits into so much, for example 24G: the context, the quants this model could "
        "have, and those that lie in its repository on a hub or in its folder, by their sizes",
    )
    group.add_argument("--kv", metavar="TYPE", help="type of the cache: F16 (default), Q8_0, …")
    group.add_argument("--kv-values", metavar="TYPE", help="type of the values, if another one")
    group.add_argument("--sequences", type=int, metavar="N", help="at a time; 1 by default")
    group.add_argument(
        "--split-cache", action="store_true", help="each sequence has a cache of its own"
    )
    group.add_argument("--no-flash", action="store_true", help="without flash attention")
    group.add_argument("--swa-full", action="store_true", help="windows as long as the context")
    group.add_argument("--ubatch", type=int, metavar="N", help="tokens of one step; 512")
    group.add_argument("--offload", type=int, metavar="N", help="layers on devices; all")
    group.add_argument("--split", metavar="A,B", help="how several devices share the layers")
    for part in PARTS:
        group.add_argument(f"--{part}", metavar="SOURCE", help=f"loaded as well: {part}")


def run(options: argparse.Namespace) -> int:
    if options.hashes:
        return _print_hashes(options)
    document = _document(options.source, options, judge=options.json)
    with output(options.output) as out:
        out.write(_text(document, options, colours(out)))
    return UNREADABLE if document["verdict"] == "unreadable" else CLEAN


def _document(source: str, options: argparse.Namespace, *, judge: bool = False) -> Document:
    """Only the JSON needs findings and rendered templates; the rest is there at once."""
    from ggufhub.report.run import inspect_source

    return inspect_source(source, networks=options.allow_network, judge=judge).document


def _print_hashes(options: argparse.Namespace) -> int:
    from ggufhub.errors import SourceError
    from ggufhub.report.hashes import printed_hashes

    try:
        text = printed_hashes(options.source, options.allow_network)
    except SourceError as error:
        print(f"ggufhub: {error.message}", file=sys.stderr)
        return UNREADABLE
    with output(options.output) as out:
        out.write(text)
    return CLEAN


def _text(document: Document, options: argparse.Namespace, coloured: bool) -> str:
    from ggufhub.report.document import show_document
    from ggufhub.report.render import text
    from ggufhub.report.render.formats import json_text

    if options.json:
        return json_text(show_document(document))
    if options.tensors:
        return text.tensors_text(document)
    if options.template:
        return text.templates_text(document)
    if options.sizes:
        return _sizes(document)
    if options.memory:
        return _memory(document, options) if _asked(options) else text.memory_text(document)
    return text.show_text(document, coloured=coloured)


def _sizes(document: Document) -> str:
    from ggufhub.estimate.quants import real_and_predicted, sizes_document
    from ggufhub.report.render.memory import sizes_text

    return sizes_text(sizes_document(document), real_and_predicted(document))


def _asked(options: argparse.Namespace) -> bool:
    """Whether one way to run it was asked for, and not the table of usual ones."""
    given = (options.context, options.fit, options.kv, options.kv_values, options.sequences)
    others = (options.ubatch, options.offload, options.split, *(_part(options, p) for p in PARTS))
    switches = options.split_cache or options.no_flash or options.swa_full
    return switches or any(value is not None for value in (*given, *others))


def _part(options: argparse.Namespace, part: str) -> str | None:
    source: str | None = getattr(options, part)
    return source


def _memory(document: Document, options: argparse.Namespace) -> str:
    from ggufhub.estimate.fit import amount, fit_document, fitting_quants, part_of
    from ggufhub.report.render.memory import fit_text

    setting = _setting(document, options)
    sources = [(part, source) for part in PARTS if (source := _part(options, part)) is not None]
    parts = tuple(part_of(part, _document(source, options), setting) for part, source in sources)
    limit = None if options.fit is None else amount(options.fit)
    fit = fit_document(document, setting, _placement(options), parts, limit)
    if fit is None or limit is None:
        return fit_text(fit)
    quants = _quants_beside(document, options)
    return fit_text(fit, fitting_quants(document, setting, quants, parts, limit))


def _quants_beside(document: Document, options: argparse.Namespace) -> "list[Quant]":
    """None where the place cannot be listed, which is told: the rest was asked for too."""
    from ggufhub.audit.siblings import quants_beside
    from ggufhub.errors import SourceError
    from ggufhub.report.run import addresses

    try:
        return quants_beside(options.source, document, policy=addresses(options.allow_network))
    except SourceError as error:
        print(f"ggufhub: the quants beside it are unknown: {error.message}", file=sys.stderr)
        return []


def _setting(document: Document, options: argparse.Namespace) -> "Setting":
    from ggufhub.estimate.cache import MICRO_BATCH, Setting
    from ggufhub.estimate.memory import CONTEXTS

    trained = (document["memory"] or {}).get("context_length")
    kind = (options.kv or "F16").upper()
    return Setting(
        context=trained or CONTEXTS[0] if options.context is None else options.context,
        key_type=kind,
        value_type=kind if options.kv_values is None else options.kv_values.upper(),
        sequences=1 if options.sequences is None else options.sequences,
        unified=not options.split_cache,
        flash_attention=not options.no_flash,
        full_window=options.swa_full,
        micro_batch=MICRO_BATCH if options.ubatch is None else options.ubatch,
    )


def _placement(options: argparse.Namespace) -> "Placement":
    from ggufhub.errors import UsageError
    from ggufhub.estimate.placement import EVERYTHING, Placement

    try:
        split = [float(share) for share in (options.split or "1").split(",")]
    except ValueError:
        raise UsageError("--split takes numbers, for example 3,1") from None
    return Placement(EVERYTHING if options.offload is None else options.offload, tuple(split))
