"""A coverage-guided fuzz target: `python -m tests.fuzz.atheris_reader CORPUS -max_total_time=60`.

Needs the package atheris, which has no wheel for every platform and so is no dependency.
"""

import sys

import atheris

with atheris.instrument_imports(include=["ggufhub"]):
    from tests.core.reading import report


def one_input(data: bytes) -> None:
    report(data)


def main() -> None:
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
