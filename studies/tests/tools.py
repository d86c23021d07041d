"""Runs of the commands of published experiments."""

from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from types import SimpleNamespace

from studies.papers import __main__ as papers


def run_paper(*arguments, code=0):
    """Repeat a published experiment and return its printed output, and check its exit code."""
    out, err = StringIO(), StringIO()
    found = 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            papers.main([str(argument) for argument in arguments])
        except SystemExit as end:
            found = end.code
    assert found == code, (out.getvalue(), err.getvalue())
    return SimpleNamespace(stdout=out.getvalue(), stderr=err.getvalue())
