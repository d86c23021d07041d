"""The command line; `cli.commands` has a file for each command.

`bayescal --help` answers at once: pandas, scikit-learn, matplotlib and PyMC are imported by the
functions that need them, never by these modules.
"""


def main() -> None:
    """Run the command line on sys.argv."""
    from bayescal.cli.app import app

    app(prog_name="bayescal")
