"""Pages name all that they are about."""

import re

from tests.pages import PAGES


def test_the_pages_on_decisions_and_audits_name_all_there_is():
    from bayescal import calibrators, decisions, monitoring

    page = PAGES["docs/decisions.md"] + PAGES["docs/audit.md"] + PAGES["docs/multiclass.md"]
    functions = {
        name
        for room in (decisions, monitoring, calibrators)
        for name, value in vars(room).items()
        if callable(value) and not name.startswith("_") and not isinstance(value, type)
    }
    used = {name for name in functions if re.search(rf"\b{name}\b", page)}
    # Steps of what the page shows, for arrays of one's own.
    assert functions - used == {
        "expected_costs",
        "prior_posterior",
        "shares_posterior",
        "leave_one_out",
    }


def test_the_options_of_the_page_on_text_exist():
    from typer.main import get_command

    from bayescal.cli.app import app

    fit = get_command(app).commands["text"].commands["fit"]
    known = {option for parameter in fit.params for option in parameter.opts}
    assert set(re.findall(r"--[a-z][a-z-]*", PAGES["docs/tutorial_text.md"])) <= known
