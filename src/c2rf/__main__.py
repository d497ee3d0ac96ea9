"""``python -m c2rf`` is the command ``c2rf``."""

from __future__ import annotations

import sys

from c2rf.cli import main

if __name__ == "__main__":
    sys.exit(main())
