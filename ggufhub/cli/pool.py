"""Several models at a time: processes where we compute, threads where a server does."""

from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from ggufhub.cli.screen import Progress
from ggufhub.errors import SourceError

Document = dict[str, Any]


def inspect_parallel(
    sources: list[str],
    inspect: Callable[..., Document],
    jobs: int,
    progress: Progress,
    *,
    threads: bool,
) -> list[Document]:
    """Documents in the order of ``sources``. A process that dies makes its models unreadable."""
    kind = ThreadPoolExecutor if threads else ProcessPoolExecutor
    pool: Executor = kind(min(jobs, len(sources)))
    try:
        tasks = [pool.submit(inspect, source) for source in sources]
        for task in as_completed(tasks):
            error = task.exception()
            if error is not None and not isinstance(error, BrokenProcessPool):
                raise error  # a server that is down is down for all
            progress.done()
        pairs = zip(sources, tasks, strict=True)
        return [_result(source, task.result) for source, task in pairs]
    finally:
        # After an error or Ctrl-C nobody wants the rest.
        pool.shutdown(wait=not threads, cancel_futures=True)


def _result(source: str, result: Callable[[], Document]) -> Document:
    try:
        return result()
    except BrokenProcessPool:
        from ggufhub.report.build import unreadable

        message = "The process that read this model, or one beside it, was killed. Use --jobs 1."
        return unreadable(source, SourceError("killed", message)).document
