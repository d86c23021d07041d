"""Further columns of documents in the command line: --covariate-columns."""

import textwrap

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import special

import bayescal
from bayescal.fitting.scores import BinaryScores
from bayescal.report.held_out import MOST_CELLS, predict
from tests.cli_tools import make_frame, run, summary_of, write
from tests.test_own_programs import GROUPS

COLUMNS = ("--covariate-columns", "length,site", "--draws", 100, "--chains", 2)


def scattered(model, rng, *, draws, chains, started=None, **_):
    """Draws around a point: slope 1.2, length 0.5, oslo -1, paris 1."""
    started()
    shape = (chains, draws)
    variables = {
        "slope": (("chain", "draw"), rng.normal(1.2, 0.2, shape)),
        "length": (("chain", "draw"), rng.normal(0.5, 0.2, shape)),
        "at_site": (("chain", "draw", "site"), rng.normal([-1.0, 1.0], 0.3, (*shape, 2))),
    }
    stats = {"diverging": (("chain", "draw"), np.zeros(shape, dtype=bool))}
    coords = {"chain": range(chains), "draw": range(draws)}
    sites = {"site": ["oslo", "paris"]}
    return {
        "posterior": xr.Dataset(variables, coords | sites),
        "sample_stats": xr.Dataset(stats, coords),
    }


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """Work in a folder with the program, scores to fit and new ones, without a sampler."""
    monkeypatch.setattr("bayescal.fitting.engines.program.draw_posterior", scattered)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(textwrap.dedent(GROUPS))
    write(documents(40), tmp_path / "scores.csv")
    write(documents(12, seed=1), tmp_path / "new.csv")
    return tmp_path


def documents(n, seed=0):
    rng = np.random.default_rng(seed)
    site = np.where(rng.random(n) < 0.5, "paris", "oslo")
    return make_frame(n, seed=seed, length=rng.normal(size=n).round(3), site=site)


def fit(*further, code=0):
    return run("fit", "scores.csv", "--model", "mine.py", *COLUMNS, *further, code=code)


def expected(path, frame):
    """P(+) of documents by every draw, from the formula and the draws in the file; (draws, n)."""
    posterior = bayescal.load(path).posterior_["posterior"].to_dataset().stack(d=("chain", "draw"))
    slope, length = (posterior[name].values[:, None] for name in ("slope", "length"))
    site = posterior["at_site"].transpose("d", "site").sel(site=frame["site"].to_numpy()).values
    score, size = frame["score"].to_numpy(), frame["length"].to_numpy()
    return special.expit(slope * score + length * size + site)


@pytest.mark.slow
def test_columns_reach_the_probabilities_of_fit_and_predict(folder):
    shown = fit("--out", "out").stdout
    assert "of a typical document: length " in shown
    assert "report" not in shown.split("Next:")[1]
    assert summary_of(folder / "out")["arguments"]["covariate_columns"] == "length,site"
    run("predict", "out", "new.csv", "--out", "p.csv")
    for read, written in (("scores.csv", "out/probabilities.csv"), ("new.csv", "p.csv")):
        table = pd.read_csv(folder / written)
        draws = expected("out/posterior.nc", pd.read_csv(folder / read))
        np.testing.assert_allclose(table["probability"], draws.mean(axis=0), atol=1e-6)
        ends = np.quantile(draws, [0.05, 0.95], axis=0)
        np.testing.assert_allclose(table[["lower", "upper"]].T, ends, atol=0.01)
    # The order of rows and columns means nothing.
    turned = pd.read_csv(folder / "new.csv").iloc[::-1, ::-1]
    turned.to_csv("turned.csv", index=False)
    run("predict", "out", "turned.csv", "--out", "t.csv")
    np.testing.assert_allclose(
        pd.read_csv("t.csv")["probability"][::-1], pd.read_csv("p.csv")["probability"]
    )


@pytest.mark.slow
def test_predict_says_which_sites_were_not_fitted(folder):
    group = "def new_group(rng, slope):\n    return {'at_site': rng.normal(0, 2, slope.shape)}\n"
    (folder / "mine.py").write_text(textwrap.dedent(GROUPS) + "\n" + group)
    fit("--out", "out")
    frame = pd.read_csv("new.csv").assign(site=["bern", *["oslo"] * 11])
    frame.to_csv("bern.csv", index=False)
    said = run("predict", "out", "bern.csv", "--out", "p.csv").stdout.replace("\n", " ")
    assert "Not fitted: site 'bern'." in said
    assert "a new site, if it is like the 2 fitted" in said
    calibrator, table = bayescal.load("out/posterior.nc"), pd.read_csv("p.csv")
    p = calibrator.predict_proba(frame["score"], covariates=frame[["length", "site"]])[:, 1]
    np.testing.assert_allclose(table["probability"], p)
    assert "Not fitted" not in run("predict", "out", "new.csv", "--out", "q.csv").stdout


@pytest.mark.slow
def test_predict_is_what_python_predicts_for_another_prior(folder):
    fit("--out", "out")
    frame = pd.read_csv("new.csv")
    run("predict", "out", "new.csv", "--prior", 0.6, "--level", 0.5, "--out", "p.csv")
    calibrator, table = bayescal.load("out/posterior.nc"), pd.read_csv("p.csv")
    columns = frame[["length", "site"]]
    p = calibrator.predict_proba(frame["score"], 0.6, covariates=columns)[:, 1]
    np.testing.assert_allclose(table["probability"], p)
    band = calibrator.predict_interval(frame["score"], 0.5, prior=0.6, covariates=columns)
    np.testing.assert_allclose(table[["lower", "upper"]], band)


@pytest.mark.slow
def test_the_verdict_on_held_out_rows_reads_their_columns(folder):
    fit("--out", "out")
    n = MOST_CELLS + 200
    frame = documents(n, seed=2)
    p = expected("out/posterior.nc", frame).mean(axis=0)
    frame["label"] = (np.random.default_rng(3).random(n) < p).astype(int)
    turned = frame["site"].map({"oslo": "paris", "paris": "oslo"})
    for each, verdict in (
        (frame, "no sign"),
        (frame.assign(site=turned), "Fit again on documents like these"),
    ):
        each.to_csv("held.csv", index=False)
        assert verdict in run("predict", "out", "held.csv", "--test", "--out", "p.csv").stdout


@pytest.mark.slow
@pytest.mark.parametrize("n", [100, MOST_CELLS + 200])
def test_cells_of_held_out_documents_have_draws_of_alike_documents(n, folder):
    fit("--out", "out")
    frame = documents(n, seed=2)
    (problem,) = bayescal.load("out/posterior.nc").fitted_problems().values()
    held = BinaryScores(frame["score"].to_numpy(), frame["label"].to_numpy() == 1)
    columns = {name: frame[name].to_numpy() for name in ("length", "site")}
    cells = predict(problem, held, covariates=columns).cells
    assert cells.documents.sum() == n
    np.testing.assert_allclose(cells.draws.mean(axis=0), cells.p, atol=0.01)
    means = expected("out/posterior.nc", frame).mean(axis=0)
    assert cells.p @ cells.documents == pytest.approx(means.sum(), rel=1e-3)


@pytest.mark.slow
def test_rows_to_test_on_use_their_columns(folder):
    frame = pd.read_csv("scores.csv")
    frame["split"] = np.where(np.arange(len(frame)) % 5 < 3, "train", "test")
    frame.to_csv("scores.csv", index=False)
    assert "at_site[oslo]" in fit("--out", "out", "--parameters").stdout
    test = frame[frame["split"] == "test"]
    p = expected("out/posterior.nc", test).mean(axis=0)
    loss = -np.log2(np.where(test["label"] == 1, p, 1 - p)).sum()
    assert summary_of(folder / "out")["losses"]["log_loss"] == pytest.approx(loss, rel=1e-4)


@pytest.mark.slow
def test_topics_have_their_own_rows(folder):
    frame = pd.read_csv("scores.csv").assign(topic=["corn", "corn", "wheat", "wheat"] * 10)
    frame["label"] = np.arange(40) % 8 < 4  # both classes in each
    frame.iloc[np.random.default_rng(1).permutation(40)].to_csv("scores.csv", index=False)
    fit("--out", "out", "--topic-column", "topic")
    written = pd.read_csv("out/probabilities.csv")
    run("predict", "out", "scores.csv", "--topic-column", "topic", "--out", "p.csv")
    assert pd.read_csv("p.csv")["probability"].equals(written["probability"])
    for topic in ("corn", "wheat"):
        rows = written[written["topic"] == topic]
        draws = expected(f"out/{topic}.nc", rows)
        np.testing.assert_allclose(rows["probability"], draws.mean(axis=0), atol=1e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("--model mine.py", "takes covariates: name their columns with --covariate-columns"),
        ("--model logistic --covariate-columns site", "logistic takes no covariates, got"),
        ("--covariate-columns site", "--covariate-columns needs --model"),
        ("--model mine.py --covariate-columns site,", "must name every column once"),
        ("--model mine.py --covariate-columns site,site", "must name every column once"),
        ("--model mine.py --covariate-columns site,label", "which is the label to predict"),
        ("--model mine.py --covariate-columns site,width", "no column 'width'; its columns are"),
        ("--classes a,b --covariate-columns site", "--covariate-columns is for one score"),
    ],
)
def test_calls_that_mean_nothing(call, message, folder):
    assert message in run("fit", "scores.csv", *call.split(), code=2).stderr


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        (("length", "n/a long"), "must hold a finite number, as in other rows,"),
        (("length", "inf"), "must hold a finite number, as in other rows,"),
        (("length", ""), "must hold a number or text in every row, got an empty cell in row 5 of"),
        (("site", ""), "must hold a number or text in every row, got an empty cell in row 5 of"),
    ],
)
def test_cells_that_are_none(cell, message, folder):
    frame = pd.read_csv("scores.csv", dtype=str)
    frame.loc[3, cell[0]] = cell[1]
    frame.to_csv("scores.csv", index=False)
    assert message in fit(code=2).stderr


NEW_COLUMNS = [
    ({"site": None}, "new.csv must have the columns length, site, which the model of out takes"),
    ({"site": None, "length": None}, "there is no length, site: add what is missing"),
    ({"site": "rome"}, "'site' holds 'rome', which was not fitted; known are 'oslo', 'paris'"),
    ({"length": "long"}, "column 'length' of new.csv must hold a finite number"),
]


def test_new_columns_that_are_none(folder):
    fit("--out", "out")
    frame = pd.read_csv("new.csv")
    for change, message in NEW_COLUMNS:
        missing = [name for name in change if change[name] is None]
        frame.assign(**change).drop(columns=missing).to_csv("new.csv", index=False)
        assert message in run("predict", "out", "new.csv", code=2).stderr


OF_ONE_CURVE = {
    "decide out new.csv --at 0.5": "a table of decisions has one curve, and this model takes",
    "decide out new.csv --recall 0.8": "a table of decisions has one curve",
    "report out --out page.html": "a report has one curve, and this model takes covariates",
    "export out --out curve.py": "an exported file has one curve",
    "predict out new.csv --likelihood-ratio": "a likelihood ratio has one curve",
    "predict out new.csv --band simultaneous": "choose kind='pointwise' for a model with",
}


def test_commands_of_one_curve_refuse(folder):
    fit("--out", "out")
    for call, message in OF_ONE_CURVE.items():
        assert message in run(*call.split(), code=2).stderr
    assert not (folder / "page.html").exists()
