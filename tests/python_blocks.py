"""Python in Markdown pages: find it, run it."""

import os
import re
import subprocess
import sys


def blocks_of(page):
    """Return the Python blocks of a page, in order."""
    return re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL)


def run(blocks, folder):
    """Run blocks one after the other in a process of their own; return what it wrote to stderr."""
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(blocks)],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env=os.environ,
    )
    assert done.returncode == 0, done.stderr
    return done.stderr
