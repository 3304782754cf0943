"""`make supply-chain`: known faults of the pinned dependencies, and what the product is made of.

`python -m tests.supply TOOLS PRODUCT`: TOOLS is a virtual environment with pip-audit and
cyclonedx-bom, PRODUCT one with the product as an image has it. Writes `sbom.json` beside PRODUCT.
Exit code 1 where a dependency has a known fault or could not be audited while others could, or
where the list of parts lacks one.
"""

import json
import subprocess
import sys
from pathlib import Path

from tests.supply.parts import missing
from tests.supply.verdict import Run, judge

ROOT = Path(__file__).parents[2]
PROJECT = ROOT / "pyproject.toml"
# The file pins everything, so nothing has to be resolved.
PINNED = ("--no-deps", "--disable-pip", "-r", str(ROOT / "constraints.txt"), "-f", "json")


def audit(tools: Path) -> bool:
    """Ask for known faults of all that is pinned, and print what came of it."""

    def run(*options: str) -> Run:
        command = [str(tools / "bin" / "pip-audit"), *options, *PINNED, "--progress-spinner", "off"]
        done = subprocess.run(command, capture_output=True, text=True)
        return Run(done.returncode, done.stdout, done.stderr)

    verdict = judge(run("--strict"), run)
    print(*verdict.lines, sep="\n", flush=True)
    return verdict.passes


def list_parts(tools: Path, product: Path) -> bool:
    """Write the list of parts, and print how many there are."""
    target = product.parent / "sbom.json"
    subprocess.run(
        [
            *(tools / "bin" / "cyclonedx-py", "environment", "--output-reproducible"),
            *("--pyproject", PROJECT, "-o", target, product / "bin" / "python"),
        ],
        check=True,
    )
    document = json.loads(target.read_text())
    lacking = missing(document, PROJECT)
    print(f"{target.name}: {len(document['components'])} parts", end="")
    print(f", but it lacks {', '.join(sorted(lacking))}" if lacking else "")
    return not lacking


def main(tools: Path, product: Path) -> int:
    results = [audit(tools), list_parts(tools, product)]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:3])))
