"""`bayescal report`: of one calibrator, of topics apart and pooled, with held-out scores."""

import numpy as np
import pytest

from bayescal import load
from tests.cli_tools import make_frame, make_topics, run, write
from tests.report_data import data_of

pytestmark = pytest.mark.one_era


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


@pytest.mark.slow
def test_the_command_takes_test_rows_of_a_split(folder, tmp_path):
    frame = make_topics()
    split = np.where(np.arange(len(frame)) % 2 == 0, "train", "test")
    scores = write(frame.assign(split=split), tmp_path / "scores.csv")
    run("report", folder / "pooled", "--test", scores, "--out", tmp_path / "report.html")
    topics = data_of(tmp_path / "report.html")["topics"]
    assert sum(topic["test"]["point"]["n"] for topic in topics) == len(frame) // 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing.nc"], "there is no file"),
        (["pooled", "--test", "words.csv"], "no column 'topic'"),
        (["pooled", "--level", "90"], "level must lie between 0 and 1"),
        (["pooled", "--out", "no/report.html"], "make it first"),
        (["apart/a.nc", "--test", "scores.csv", "--topic-column", "topic"], "is one"),
    ],
)
def test_wrong_use_is_one_line(folder, arguments, message, monkeypatch):
    monkeypatch.chdir(folder)
    result = run("report", *arguments, code=2)
    assert message in result.output
    assert not (folder / "report.html").exists()
