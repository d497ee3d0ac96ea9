"""Where the command ``c2rf`` starts: Ctrl-C ends it in good order from the first moment.

Importing the library takes a second or two. This module is outside the package, so that it can
catch what happens meanwhile.
"""

from __future__ import annotations

import sys

INTERRUPTED = 130


def main() -> int:
    """Import the command and run it."""
    try:
        from c2rf.cli import main as command

        return command()
    except KeyboardInterrupt:
        print("c2rf: stopped by Ctrl-C", file=sys.stderr)
        return INTERRUPTED
