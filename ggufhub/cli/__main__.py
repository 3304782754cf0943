"""``python -m ggufhub.cli`` is the `ggufhub` command."""

import sys

from ggufhub.cli import main

if __name__ == "__main__":  # a worker process of --jobs imports this module too
    sys.exit(main())
