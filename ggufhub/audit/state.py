"""What one audit leaves for the next: its rows in a compressed file, a JSON line each."""

import gzip
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ggufhub.audit.facts import Row, pack_row, unpack_row
from ggufhub.errors import UsageError
from ggufhub.report.codec import Json

STATE_SCHEMA = "ggufhub.audit-state/1"


class State:
    """Rows of the last audit, packed, by path. ``made_by`` says how they were judged: rows are
    used again only where rules, profile, policy and depth are the same."""

    def __init__(self, made_by: Json = None, rows: Iterable[Row] = ()) -> None:
        self.made_by = made_by
        self._packed = {row["path"]: pack_row(row) for row in rows}

    @classmethod
    def read(cls, path: Path) -> "State | None":
        """The state in the file; None where there is none. ``UsageError`` for another file."""
        if not path.exists():
            return None
        try:
            with gzip.open(path, "rt", encoding="utf-8") as lines:
                head = json.loads(next(lines))
                if head["schema"] != STATE_SCHEMA:
                    raise ValueError
                return cls(head["made_by"], map(json.loads, lines))
        except (OSError, EOFError, ValueError, KeyError, TypeError, StopIteration) as error:
            raise UsageError(f"{path} is no state of an audit.") from error

    def rows(self) -> Iterator[Row]:
        return map(unpack_row, self._packed.values())

    def unchanged(self, path: str, identity: str | None, made_by: Any) -> Row | None:
        """The row of the same bytes judged in the same way, marked as used again."""
        packed = self._packed.get(path)
        if packed is None or identity is None or made_by != self.made_by:
            return None
        row = unpack_row(packed)
        same = row["identity"] == identity and row["report"]["error"] is None
        return {**row, "reused": True} if same else None


def write_state(path: Path, made_by: Json, rows: Iterable[Row]) -> None:
    """Write the file anew in one step: who is interrupted keeps the old one."""
    unfinished = path.with_name(f"{path.name}.new")
    with gzip.open(unfinished, "wt", encoding="utf-8", compresslevel=1) as out:
        out.write(json.dumps({"schema": STATE_SCHEMA, "made_by": made_by}) + "\n")
        for row in rows:
            out.write(json.dumps({**row, "reused": False}, ensure_ascii=False) + "\n")
    os.replace(unfinished, path)
