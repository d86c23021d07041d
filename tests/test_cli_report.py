"""`bayescal report`: of one calibrator, of topics apart and pooled, with held-out scores."""

import numpy as np
import pandas as pd
import pytest

from bayescal import load
from bayescal import report as report_pages
from tests import small_fits
from tests.cli_tools import make_frame, make_topics, run, write
from tests.report_data import data_of


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with what `bayescal fit` wrote: pooled, apart, single."""
    path = tmp_path_factory.mktemp("cli")
    scores = write(make_topics(), path / "scores.csv")
    options = ("--draws", "50", "--topic-column", "topic")
    run("fit", scores, *options, "--pool", "--out", path / "pooled")
    run("fit", scores, *options, "--inference", "mle", "--out", path / "apart")
    words = make_frame().assign(label=lambda f: np.where(f["label"] == 1, "ham", "spam"))
    write(words, path / "words.csv")
    run("fit", path / "words.csv", "--positive", "ham", "--inference", "mle",
        "--out", path / "single")  # fmt: skip
    return path


@pytest.mark.slow
@pytest.mark.parametrize("what", ["pooled", "pooled/topics.nc", "apart"])
def test_the_command_reports_topics(folder, what, tmp_path):
    out = tmp_path / "report.html"
    result = run("report", folder / what, "--test", folder / "scores.csv", "--out", out)
    assert f"Written to {out}" in result.stdout
    topics = {topic["name"]: topic for topic in data_of(out)["topics"]}
    assert set(topics) == {"b/x", "a", "NA", "B x"}
    for topic in topics.values():
        assert topic["test"]["point"]["n"] == 40
        assert len(topic["histogram"]["counts"]) == 2
        assert topic["positives"] == 10


@pytest.mark.slow
def test_the_command_reports_one_calibrator(folder, tmp_path):
    out = tmp_path / "report.html"
    run("report", folder / "single", "--test", folder / "words.csv", "--out", out, "--quiet")
    (topic,) = data_of(out)["topics"]
    assert topic["test"]["point"]["positives"] == 10  # ham, as --positive said
    run("report", folder / "apart/a.nc", "--out", out, "--title", "Topic a")
    assert "<title>Topic a</title>" in out.read_text(encoding="utf-8")
    assert data_of(out)["topics"][0]["test"] is None
    expected = load(folder / "apart/a.nc").decision_function(data_of(out)["topics"][0]["x"])
    np.testing.assert_allclose(data_of(out)["topics"][0]["point"], expected, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing.nc"], "there is no file"),
        (["pooled", "--test", "words.csv"], "no column 'topic'"),
        (["pooled", "--level", "90"], "--level must lie between 0 and 1"),
        (["apart/a.nc", "--test", "scores.csv", "--topic-column", "topic"], "is one"),
    ],
)
def test_wrong_use_is_one_line(folder, arguments, message, monkeypatch):
    monkeypatch.chdir(folder)
    result = run("report", *arguments, code=2)
    assert message in result.output
    assert not (folder / "report.html").exists()


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("several", [False, True])
def test_a_page_gets_what_the_shell_was_given(lower, several, tmp_path, monkeypatch):
    received = []

    def write(calibrator, path, **options):
        received.append(options)
        path.write_text("page")

    monkeypatch.setattr(report_pages, "write_report", write)
    fitted = small_fits.topics() if several else small_fits.one()
    fitted.save(tmp_path / "fit.nc")
    sign = -1.0 if lower else 1.0
    rows = pd.DataFrame({"s": [0.5, 1.5, -2.0, 0.25], "t": ["corn", "acq", "corn", "ship"]})
    rows.assign(s=sign * rows["s"]).to_csv(tmp_path / "new.csv", index=False)
    labelled = rows.assign(y=[1, 0, 0, 1], part=["test", "train", "test", "test"])
    labelled.assign(s=sign * labelled["s"]).to_csv(tmp_path / "test.csv", index=False)
    given = ["--test", tmp_path / "test.csv", "--collection", tmp_path / "new.csv"]
    given += ["--score-column", "s", "--label-column", "y", "--split-column", "part"]
    given += ["--at-score", 0.75, "--recall", 0.7, "--level", 0.8, "--title", "Ours"]
    given += ["--topic-column", "t"] if several else []
    given += ["--lower-is-positive"] if lower else []
    given += ["--likelihood-ratio"] if several else []
    page = tmp_path / "page.html"
    run("report", tmp_path / "fit.nc", *given, "--out", page)
    assert page.read_text() == "page"
    (options,) = received
    held_out, collection = options.pop("test"), options.pop("collection")
    collection = collection if several else (collection,)
    np.testing.assert_array_equal(collection[0], rows["s"])
    np.testing.assert_array_equal(held_out[0], rows["s"][[0, 2, 3]])
    assert held_out[1].tolist() == [1, 0, 1]
    assert len(held_out) == (3 if several else 2)
    if several:
        assert collection[1].tolist() == rows["t"].tolist()
        assert held_out[2].tolist() == ["corn", "corn", "ship"]
    assert options == {
        "fitted": None, "level": 0.8, "threshold": sign * 0.75, "recall": 0.7,
        "likelihood_ratio": several, "title": "Ours",
    }  # fmt: skip
