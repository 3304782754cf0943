"""locks/: every file that is fetched has a hash, at the versions of constraints.txt."""

import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.supply import locks
from tests.supply.parts import EXTRAS, normal

LOCKS = locks.ROOT / "locks"
PROJECT = tomllib.loads((locks.ROOT / "pyproject.toml").read_text())
TOOLS = ("cyclonedx-bom", "pip-audit", "uv")
"""What `make supply-chain` and `make lock` call."""


def wanted(*extras: str) -> Iterator[Requirement]:
    """What ``pyproject.toml`` asks for with these extras, those that an extra names included."""
    table = PROJECT["project"]
    lines = [*table["dependencies"]]
    lines += [line for extra in extras for line in table["optional-dependencies"][extra]]
    for one in map(Requirement, lines):
        if one.name == table["name"]:
            yield from wanted(*one.extras)
        else:
            yield one


NEEDED = {
    "build": list(map(Requirement, PROJECT["build-system"]["requires"])),
    "dev": list(wanted("dev")),
    "product": list(wanted(*EXTRAS)),
    "tools": list(map(Requirement, TOOLS)),
}


def test_there_is_no_lock_that_nothing_tests() -> None:
    assert {path.name for path in LOCKS.iterdir()} == {f"{name}.txt" for name in NEEDED}


@pytest.mark.parametrize("name", NEEDED)
def test_a_lock_holds_what_is_asked_for(name: str) -> None:
    held = locks.read(LOCKS / f"{name}.txt")
    for one in NEEDED[name]:
        assert normal(one.name) in held, f"{one}: run `make lock`"
        assert one.specifier.contains(held[normal(one.name)].version), one


@pytest.mark.parametrize("name", NEEDED)
def test_a_lock_and_the_constraints_name_the_same_versions(name: str) -> None:
    held = {one: locked.version for one, locked in locks.read(LOCKS / f"{name}.txt").items()}
    constraints = locks.constraints()
    lacking = [f"{one}=={held[one]}" for one in held if one not in constraints]
    assert not lacking, "constraints.txt lacks these lines"
    changed = {one for one, version in held.items() if constraints[one] != version}
    assert not changed, "run `make lock`"


@pytest.mark.parametrize("name", NEEDED)
def test_a_lock_names_no_place(name: str) -> None:
    text = (LOCKS / f"{name}.txt").read_text()
    assert not re.search(r"/|@|^\s*-(?!-hash=)", text, re.MULTILINE)


def test_a_wheel_of_every_machine_is_locked() -> None:
    for name in ("dev", "product"):
        # numpy has a wheel for each Python and platform: a lock of one machine would hold one.
        assert len(locks.read(LOCKS / f"{name}.txt")["numpy"].hashes) > 50


@pytest.mark.parametrize(
    "line", ["numpy==2.4.6", "numpy>=2.2 --hash=sha256:" + "0" * 64, "-e .", "numpy[x]==1", ""]
)
def test_a_line_without_version_or_hash_is_no_lock(line: str, tmp_path: Path) -> None:
    lock = tmp_path / "bad.txt"
    lock.write_text(f"# made by hand\n{line}\n")
    with pytest.raises(ValueError, match=r"bad\.txt"):
        locks.read(lock)


def test_make_fetches_nothing_without_a_hash() -> None:
    """Whatever pip installs is either in a lock or the project itself, built without fetching."""
    targets = (".venv/.ready", "supply-chain", "lock")
    printed = subprocess.run(
        ["make", "--dry-run", "--always-make", *targets],
        cwd=locks.ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.replace("\\\n", " ")
    installs = [line for line in printed.splitlines() if re.search(r"\bpip .*\binstall\b", line)]
    assert len(installs) == 6
    for line in installs:
        if "--require-hashes" in line:
            assert "-r locks/" in line
        else:
            assert "--no-deps --no-build-isolation" in line and line.split()[-1] == "."
