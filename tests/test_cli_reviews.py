"""`bayescal sample`, `recall`, `rate`, `stop`, and reports of reviews and rates."""

import hashlib
import json
import re
import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from bayescal.report.review import write_review_report
from bayescal.sampling import (
    compare_rates,
    compare_reviewers,
    estimate_precision,
    estimate_rate,
    estimate_recall,
    judge_agreement,
    rates_by_slice,
    read_plan,
)
from bayescal.support.intervals import percent
from tests.cli_tools import run


@pytest.fixture(autouse=True)
def whole_sentences(monkeypatch):
    """Keep each sentence on one line, so that lines can be compared."""
    monkeypatch.setattr("bayescal.cli.terminal.WIDTH_OF_FILES", 2_000)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A collection, and two rounds of labels that reviewers filled in."""
    path = tmp_path_factory.mktemp("review")
    rng = np.random.default_rng(0)
    positive = rng.random(1_500) < 0.06
    frame = pd.DataFrame({"score": rng.normal(size=1_500) + 2.4 * positive, "thread": "x"})
    frame["thread"] = [f"t{k // 2}" for k in range(1_500)]
    frame.to_csv(path / "scores.csv", index=False)
    np.save(path / "truth.npy", positive)
    at = ("--at-score", "1.5")
    run("sample", path / "scores.csv", "--n", 60, *at, "--out", path / "one.csv")
    fill(path / "one.csv", positive)
    labels = ("--labels", path / "one.csv")
    out = run(
        "sample", path / "scores.csv", *labels, "--n", 150, *at, "--out", path / "two.csv"
    ).output
    assert "Expected width" in out
    fill(path / "two.csv", positive)
    return path


def fill(path, positive, words=("no", "yes")):
    frame = pd.read_csv(path)
    frame["label"] = np.array(words)[positive[frame["row"] - 2].astype(int)]
    frame.to_csv(path, index=False)


def reviewed(folder, *names):
    """Return the scores, the labels of some rounds, and their plans."""
    scores = pd.read_csv(folder / "scores.csv")["score"].to_numpy()
    plans = [read_plan(folder / f"{name}.plan.csv", scores) for name in names]
    drawn = np.isin(np.arange(scores.size), np.concatenate([plan.documents for plan in plans]))
    return scores, np.where(drawn, np.load(folder / "truth.npy"), np.nan), plans


def rounds(folder):
    return ("--labels", folder / "one.csv", "--labels", folder / "two.csv")


def test_a_plan_that_lost_a_column_is_named(folder, tmp_path):
    plan = pd.read_csv(folder / "one.plan.csv").drop(columns="hash")
    plan.to_csv(tmp_path / "one.plan.csv", index=False)
    labels = ("--labels", folder / "one.csv", "--plan", tmp_path / "one.plan.csv")
    found = run("recall", folder / "scores.csv", *labels, "--at-score", 1.5, code=2)
    assert "it lacks hash: write it with bayescal sample" in found.stderr


@pytest.mark.slow
def test_recall_is_that_of_the_functions(folder, tmp_path):
    path = folder / "scores.csv"
    report = tmp_path / "recall.html"
    out = run("recall", path, *rounds(folder), "--at-score", 1.5, "--report", report).output
    scores, labels, plans = reviewed(folder, "one", "two")
    assert [plan.round for plan in plans] == [1, 2]
    expected = estimate_recall(scores, labels, 1.5, design=plans)
    for limits in (expected.design_based, expected.robust):
        assert percent(limits.lower, 1) in out
        assert percent(limits.upper, 1) in out
    beside = estimate_precision(scores, labels, 1.5, design=plans)
    assert f"precision: {beside:.2%}, the share of positive documents of those taken" in out
    assert vars(expected.precision) == vars(beside.design_based)
    page = report.read_text()
    assert f"<dt>Precision</dt><dd>{beside.value:.0%}".replace("%", "") in page
    assert "<dt>Elusion</dt>" in page
    assert str(plans[1].seed) in page
    assert plans[1].hash in page
    assert "From the random draw alone" in page
    assert all(f"SHA-256 of {folder / name}" in page for name in ("one.csv", "two.plan.csv"))
    assert "<dt>Unit of counting</dt><dd>documents</dd>" in page
    again = write_review_report(
        tmp_path / "again.html", expected, scores, labels, plans, positive="yes"
    )
    before = '<section id="provenance"'
    assert again.read_text().split(before)[0] == page.split(before)[0]


@pytest.mark.slow
def test_recall_states_what_it_allows_for(folder, tmp_path):
    path, report = folder / "scores.csv", tmp_path / "recall.html"
    asked = ("recall", path, *rounds(folder), "--at-score", 1.5)
    options = ("--simultaneous", "--reviewer-error", 0.1, 0.001, "--hidden", "learned")
    out = run(*asked, *options, "--in-sample", "--report", report).output
    scores, labels, plans = reviewed(folder, "one", "two")
    expected = estimate_recall(
        scores,
        labels,
        1.5,
        design=plans,
        simultaneous=True,
        reviewer_error=(0.1, 0.001),
        hidden="learned",
        out_of_sample=False,
    )
    for limits in (expected.design_based, expected.robust):
        assert percent(limits.lower, 1) in out
    page = report.read_text()
    for words in (
        "which hold for all thresholds at once",
        "Reviewers label 10 % of positives negative and 0.10 % of negatives positive",
        "The threshold may have been chosen after the labels",
        "Beta(1, 52)",
    ):
        assert words in re.sub(r"\s+", " ", page.replace("&nbsp;", " "))


def test_two_reviewers_give_labels_and_their_error(folder, tmp_path):
    frame = pd.read_csv(folder / "one.csv")
    rng, truth = np.random.default_rng(2), (frame["label"] == "yes").to_numpy()
    ann = np.where(rng.random(truth.size) < 0.2, ~truth, truth)
    words = frame.assign(ann=np.where(ann, "responsive", "not responsive"), bob=truth * 1)
    words = words.drop(columns="label").astype({"bob": object})
    words.loc[[0, 1], ["ann", "bob"]] = [["unsure", 1], ["responsive", ""]]
    words.sample(frac=1.0, random_state=0).to_csv(tmp_path / "both.csv", index=False)
    shutil.copy(folder / "one.plan.csv", tmp_path / "both.plan.csv")
    asked = ("recall", folder / "scores.csv", "--labels", tmp_path / "both.csv", "--at-score", 1.5)
    names = ("--reviewer-columns", "ann,bob", "--hidden", "none")
    conflicts = tmp_path / "conflicts.csv"
    found = run(*asked, *names, "--conflicts", conflicts).stdout
    differ = np.flatnonzero((ann != truth)[2:]) + 2
    listed = pd.read_csv(conflicts)
    assert sorted(listed["row"]) == sorted(frame["row"][differ])
    one = listed.set_index("row")["ann"][frame["row"][differ]]
    assert one.tolist() == ann[differ].astype(int).tolist()
    assert f"The reviewers differ on {differ.size} of 58 documents" in found
    scores = pd.read_csv(folder / "scores.csv")["score"].to_numpy()
    first, second = np.full((2, scores.size), np.nan)
    first[frame["row"] - 2], second[frame["row"] - 2] = ann, truth
    first[frame["row"][0] - 2] = 1.0
    first[frame["row"][1] - 2], second[frame["row"][:2] - 2] = 1.0, np.nan
    agreement = compare_reviewers(scores, first, second)
    assert agreement.text in found
    error = (agreement.missed.value, agreement.mistaken.value)
    plan = read_plan(tmp_path / "both.plan.csv", scores)
    wanted = estimate_recall(scores, first, 1.5, design=plan, hidden=0, reviewer_error=error)
    assert percent(wanted.lower, 1) in found
    assert percent(wanted.upper, 1) in found


def test_a_report_of_inclusion_probabilities_lists_their_strata(folder, tmp_path):
    scores, labels, (plan,) = reviewed(folder, "one")
    result = estimate_recall(scores, labels, 1.5, design=plan.inclusion, hidden=0)
    page = write_review_report(tmp_path / "r.html", result, scores, labels, plan.inclusion)
    text = page.read_text()
    assert "documents of one probability form a stratum" in text
    assert text.count("<tr><td") == len(plan.strata)
    for width, state in ((0.15, "good"), (0.25, "unknown")):
        each = replace(result, lower=result.upper - width)
        text = write_review_report(page, each, scores, labels, plan.inclusion).read_text()
        assert f'id="calibration" class="verdict {state}"' in text
        assert ("more labels would narrow it" in text) == (state == "unknown")
    assert "before the labels" not in text


@pytest.mark.slow
def test_a_report_without_a_plan_says_so(folder, tmp_path):
    scores = pd.read_csv(folder / "scores.csv")["score"].to_numpy()
    labels = np.full(scores.size, np.nan)
    labels[:300] = np.load(folder / "truth.npy")[:300]
    result = estimate_recall(scores, labels, 1.5)
    text = write_review_report(tmp_path / "r.html", result, scores, labels).read_text()
    assert "No plan was given" in text
    assert "From the random draw alone" not in text
    nothing = estimate_recall(scores, np.where(labels == 1, 0, labels), 1.5)
    text = write_review_report(tmp_path / "r.html", nothing, scores, labels, title="A & B")
    assert "A &amp; B" in text.read_text()
    assert not re.search(r">\s*nan\b", text.read_text())


def test_a_threshold_above_all_scores_has_no_place_in_the_picture(folder, tmp_path):
    scores = pd.read_csv(folder / "scores.csv")["score"].to_numpy()[:400]
    labels = np.where(np.arange(400) % 4 == 0, np.load(folder / "truth.npy")[:400], np.nan)
    for threshold, drawn in ((99.0, 0), (scores.max(), 1)):
        result = estimate_recall(scores, labels, threshold)
        page = write_review_report(tmp_path / "r.html", result, scores, labels).read_text()
        (figure,) = json.loads(re.search(r'id="data">(.*?)</script>', page)[1])["evidence"]
        assert min(min(each["x"]) for each in figure["series"] if each["x"]) == 1  # log10 is finite
        assert [each["kind"] for each in figure["series"]].count("line empirical") == drawn


def test_lower_scores_may_be_positive(folder, tmp_path):
    frame = pd.read_csv(folder / "scores.csv")
    frame["score"] = -frame["score"]
    frame.to_csv(tmp_path / "scores.csv", index=False)
    options = ("--n", 60, "--at-score", "-1.5", "--lower-is-positive", "--out", tmp_path / "o.csv")
    run("sample", tmp_path / "scores.csv", *options)
    one, other = (pd.read_csv(path) for path in (tmp_path / "o.csv", folder / "one.csv"))
    assert one["row"].tolist() == other["row"].tolist()


@pytest.mark.parametrize("command", ["sample", "recall", "stop"])
def test_reversed_scores_have_advice_that_the_command_takes(command, folder, tmp_path):
    frame = pd.read_csv(folder / "scores.csv")
    frame.assign(score=-frame["score"]).to_csv(tmp_path / "scores.csv", index=False)
    labels = pd.read_csv(folder / "one.csv")
    labels.to_csv(tmp_path / "labels.csv", index=False)
    more = {
        "sample": ("--n", 9),
        "recall": ("--at-score", -1.5),
        "stop": ("--rule", "hypergeometric"),
    }
    asked = (command, tmp_path / "scores.csv", "--labels", tmp_path / "labels.csv", *more[command])
    told = run(*asked).stderr
    assert "positives have lower scores than negatives" in told
    assert "Option for this: --lower-is-positive.\n" in told
    assert "lower scores than" not in run(*asked, "--lower-is-positive").stderr


def test_reviewers_see_no_score_and_a_random_order(folder, tmp_path):
    frame = pd.read_csv(folder / "scores.csv")
    out, asked = tmp_path / "o.csv", ("--n", 60, "--at-score", 1.5, "--seed", 3)
    run("sample", folder / "scores.csv", *asked, "--show-columns", "thread", "--out", out)
    shown, plan = pd.read_csv(out), pd.read_csv(tmp_path / "o.plan.csv")
    assert shown.columns.tolist() == ["row", "thread", "label"]
    assert sorted(shown["row"]) == sorted(plan["row"])
    assert shown["thread"].tolist() == frame["thread"][shown["row"] - 2].tolist()
    assert "label" not in plan.columns
    score = frame["score"][shown["row"] - 2]
    assert abs(stats.spearmanr(score, np.arange(60))[0]) < 0.4  # p < .002 for random orders
    asked = ("sample", folder / "scores.csv", *asked)
    found = run(*asked, "--show-columns", "thread,score", "--out", out, code=2)
    assert "--show-columns must name columns" in found.stderr
    said = run(*asked).output
    assert "Nothing is written without --out: 60 documents of 3 strata, round 1" in said
    assert len(list(tmp_path.iterdir())) == 2


def test_labels_under_another_name_need_their_plan(folder, tmp_path):
    shutil.copy(folder / "one.csv", tmp_path / "done.csv")
    asked = ("recall", folder / "scores.csv", "--labels", tmp_path / "done.csv", "--hidden", "none")
    asked = (*asked, "--at-score", 1.5)
    found = run(*asked)
    assert "done.plan.csv: name it with --plan" in found.stderr
    assert "from the draw alone" not in found.stdout
    found = run(*asked, "--plan", folder / "one.plan.csv")
    assert "from the draw alone" in found.stdout
    assert "--plan" not in found.stderr


WORDS = {
    "responsive": ("Not responsive", "responsive", "unsure"),
    "relevant": ("irrelevant", "Relevant", "Not sure"),
    "mixed": ("non-responsive", "Y", "?"),
}


@pytest.mark.parametrize("name", WORDS)
def test_reviewers_answer_in_words(name, folder, tmp_path):
    *words, unsure = WORDS[name]
    frame, truth = pd.read_csv(folder / "one.csv"), np.load(folder / "truth.npy")
    frame["label"] = np.array(words)[truth[frame["row"] - 2].astype(int)]
    frame.loc[:2, "label"], frame.loc[3, "label"] = unsure, " "
    frame.to_csv(tmp_path / "one.tsv", sep="\t", index=False)
    shutil.copy(folder / "one.plan.csv", tmp_path)
    asked = ("--labels", tmp_path / "one.tsv", "--rule", "hypergeometric")
    found = run("stop", folder / "scores.csv", *asked).stdout
    positive = int(truth[frame["row"][4:] - 2].sum())
    assert f"Positive label: {words[1].lower()!r}, {positive} of 56 labelled rows" in found
    assert "4 rows without a label: 3 unsure, 1 blank." in found


def test_groups_are_drawn_whole(folder, tmp_path):
    groups, out = ("--group-column", "thread"), tmp_path / "g.csv"
    said = run("sample", folder / "scores.csv", "--n", 120, *groups, "--out", out).output
    assert "240 documents in 120 groups of " in said
    assert "120 groups hold 240 documents, in such draws 240 on average" in said
    drawn = pd.read_csv(out)["row"].to_numpy()
    assert np.unique(drawn // 2).size == 120
    assert drawn.size == 240
    truth = np.load(folder / "truth.npy")
    fill(out, truth)
    positive = truth[drawn - 2]
    page = tmp_path / "r.html"
    asked = ("--labels", out, "--at-score", 1.5, *groups, "--hidden", "none", "--report", page)
    for of, found in (
        ("documents", positive.sum()),
        ("groups", np.unique(drawn[positive] // 2).size),
    ):
        said = run("recall", folder / "scores.csv", *asked, "--of", of).output
        assert f"Recall of {of}: 90 % intervals" in said
        assert re.search(rf"positive {of}: .*, by the hull; labelled: {found}\n", said)
        text = re.sub(r"<[^>]*>|\s+", " ", page.read_text())
        assert re.search(rf"Positive {of} labelled \(label yes\)\s+{found} ", text)
        for words in (
            f"Recall of {of}: ",
            f"Positive {of} below the threshold",
            "Groups drawn",
            "Positive documents drawn",
            "Positive groups drawn",
        ):
            assert words in text


def test_stop_says_how_far_to_read(folder, tmp_path):
    out = run("stop", folder / "scores.csv", *rounds(folder)).output
    assert "Read on to rank" in out
    assert "Guarantee of the rule posterior" in out
    control = tmp_path / "control.csv"
    run("sample", folder / "scores.csv", "--for", "control", "--n", 500, "--out", control)
    fill(control, np.load(folder / "truth.npy"))
    options = ("--rule", "control", "--control", control)
    assert "Read on to rank" in run("stop", folder / "scores.csv", *options).output


READ = "recall scores.csv --at-score 1 --labels"
WRONG = [
    ("stop scores.csv --labels one.csv --looks 0", "--looks must be at least 1, got 0"),
    ("recall scores.csv --at-score 1", "--labels must name a file of labels"),
    ("recall scores.csv --labels one.csv", "--at-score must be"),
    ("recall other.csv --labels one.csv --at-score 1", "probabilities are of other scores"),
    ("sample scores.csv --labels empty.csv --n 5 --out p.csv", "none of its 60 documents has one"),
    (f"{READ} one.csv --reviewer-error 0.5 0.5", "--reviewer-error must be the share of positives"),
    (f"{READ} empty.csv", "60 of 60 have none"),
    (f"{READ} a.csv --labels b.csv", "has the label 1 in a.csv and 0 in b.csv: two reviewers"),
    (f"{READ} both.csv", "row 3 of scores.csv has the label 1 in both.csv and 0 in both.csv"),
    (f"{READ} capital.csv", "rename the one you mean. Did you mean 'Label'?"),
    (f"{READ} far.csv", "documents of scores.csv, which has no '1502' of row 2 of the file"),
    (f"{READ} documents.csv", "one of the columns 'row'; its columns are 'document', 'label'"),
    (f"{READ} a.csv --id-column thread", "'thread' of scores.csv must hold another value in each"),
    (f"{READ} odd.csv", "unsure, or nothing, got 'maybe' in row 2 of the file"),
    (f"{READ} mixed.csv", "got 'spam' in row 3 of the file (its first row is row 1), after 'resp"),
    (f"{READ} a.csv --reviewer-columns ann", "must name two columns, the labels of two reviewers"),
    (f"{READ} a.csv --conflicts c.csv", "--conflicts needs --reviewer-columns"),
    (f"{READ} a.csv --reviewer-columns row,label", "column 'row' of a.csv must hold 1 or 0"),
    ("sample scores.csv --labels one.csv --n 5 --out one.csv", "--out must be another file than"),
    (f"{READ} one.csv --report recall.pdf", "--report must end in .html"),
    ("sample scores.csv --n 0 --out plan.csv", "--n must be at least 1"),
    ("sample scores.csv --n 5 --for precision --out plan.csv", "threshold must be the score"),
    ("stop scores.csv --labels a.csv --rule control", "control must be the control sample"),
    ("stop scores.csv --labels a.csv --rule control --control a.csv", "has no plan a.plan.csv"),
    ("stop scores.csv", "--labels must name a file of labels"),
]


@pytest.mark.parametrize(("words", "message"), WRONG)
def test_wrong_use(words, message, folder, monkeypatch):
    monkeypatch.chdir(folder)
    frame = pd.read_csv("scores.csv")
    frame.assign(score=frame["score"] + 1).to_csv("other.csv", index=False)
    pd.read_csv("one.csv").assign(label="").to_csv("empty.csv", index=False)
    shutil.copy("one.plan.csv", "empty.plan.csv")
    for file, row, label in (
        ("a", [3], [1]),
        ("b", [3], [0]),
        ("both", [3, 3], [1, 0]),
        ("far", [1_502], [1]),
        ("odd", [3], ["maybe"]),
        ("mixed", [3, 4], ["responsive", "spam"]),
    ):
        pd.DataFrame({"row": row, "label": label}).to_csv(f"{file}.csv", index=False)
    pd.DataFrame({"row": [3], "Label": [1]}).to_csv("capital.csv", index=False)
    pd.DataFrame({"document": [3], "label": [1]}).to_csv("documents.csv", index=False)
    assert message in run(*words.split(), code=2).output


@pytest.mark.slow
def test_plans_may_come_back_from_a_spreadsheet(folder, tmp_path):
    for name in ("two", "two.plan"):
        frame = pd.read_csv(folder / f"{name}.csv")
        frame.to_excel(tmp_path / f"{name}.xlsx", index=False)
        frame.to_csv(tmp_path / f"{name}.csv", index=False, sep=";", decimal=",")
    asked = ("recall", folder / "scores.csv", "--labels", folder / "one.csv", "--at-score", 1.5)
    plain = answer(run(*asked, "--labels", folder / "two.csv").output)
    for ending in ("csv", "xlsx"):
        files = tmp_path / f"two.{ending}", "--plan", tmp_path / f"two.plan.{ending}"
        found = run(*asked, "--labels", *files).output
        assert answer(found.replace("xlsx", "csv")) == plain


def test_a_round_without_its_pilot_has_no_interval_from_the_draw(folder):
    asked = ("recall", folder / "scores.csv", "--labels", folder / "two.csv", "--at-score", 1.5)
    out = run(*asked).output
    assert "give the plans and labels of all rounds" in out
    assert "from the draw alone" not in out


@pytest.mark.slow
def test_missing_labels_may_be_bounded(folder, tmp_path):
    frame = pd.read_csv(folder / "two.csv")
    frame.loc[:9, "label"] = np.nan
    frame.to_csv(tmp_path / "two.csv", index=False)
    shutil.copy(folder / "two.plan.csv", tmp_path)
    labels = ("--labels", folder / "one.csv", "--labels", tmp_path / "two.csv")
    path = folder / "scores.csv"
    run("recall", path, *labels, "--at-score", 1.5, code=2)
    out = run("recall", path, *labels, "--at-score", 1.5, "--missing-bounds").output
    assert "10 planned documents have no label" in out


# Documents by identifiers, and rows as spreadsheets count them


def named(folder, path):
    """Write the collection as a person exports it, with identifiers of its own from 1 on."""
    frame, rng = pd.read_csv(folder / "scores.csv"), np.random.default_rng(5)
    number = rng.permutation(len(frame)) + 1
    frame.insert(0, "Control Number", [f"{each:07d}" for each in number])
    frame.insert(1, "document", number[::-1])
    frame.to_csv(path, sep=";", index=False, encoding="utf-8-sig")
    return frame


def answer(text):
    """Return output without the lines that name files."""
    return [line for line in text.splitlines() if "csv" not in line and "html" not in line]


@pytest.mark.parametrize("column", ["document", "Control Number", "row"])
def test_labels_in_another_order_are_matched_by_identifier(column, folder, tmp_path):
    frame = named(folder, tmp_path / "scores.csv")
    truth, read = np.load(folder / "truth.npy"), np.argsort(-frame["score"].to_numpy())[:150]
    frame = frame.assign(row=np.arange(len(frame)) + 2)
    labels = pd.DataFrame({column: frame[column][read], "label": truth[read].astype(int)})
    labels.sort_values(column, ascending=False).to_csv(tmp_path / "read.csv", index=False)
    pd.DataFrame({"row": read + 2, "label": truth[read].astype(int)}).to_csv(
        tmp_path / "rows.csv", index=False
    )
    words = ("--rule", "hypergeometric", "--labels")
    found = run("stop", tmp_path / "scores.csv", *words, tmp_path / "read.csv").stdout
    by_row = run("stop", folder / "scores.csv", *words, tmp_path / "rows.csv").stdout
    assert f"matched by the column {column!r}" in found
    assert answer(found) == answer(by_row)
    assert "Positive label: '1'" in found


def test_a_spreadsheet_may_drop_leading_zeros(folder, tmp_path):
    frame, truth = named(folder, tmp_path / "scores.csv"), np.load(folder / "truth.npy")
    labels = frame[["Control Number"]].assign(label=truth.astype(int))[:150]
    labels.to_csv(tmp_path / "read.csv", index=False)
    labels.astype(int).to_excel(tmp_path / "read.xlsx", index=False)
    words = ("stop", tmp_path / "scores.csv", "--rule", "hypergeometric", "--labels")
    whole, bare = (run(*words, tmp_path / f"read.{kind}").stdout for kind in ("csv", "xlsx"))
    assert "is read without leading zeros" in bare
    assert answer(whole) == [line for line in answer(bare) if "xlsx" not in line]
    frame["Control Number"] = frame["Control Number"].where(frame.index > 0, "000")
    frame["Control Number"] = frame["Control Number"].where(frame.index > 1, "00")
    frame.to_csv(tmp_path / "scores.csv", index=False)
    run(*words, tmp_path / "read.xlsx", code=2)  # 0 may be either of two


@pytest.mark.parametrize("name", ["Control No.", "Doc. ID", "BEGBATES", "file_name"])
def test_columns_named_like_identifiers_identify(name, folder, tmp_path):
    frame = pd.read_csv(folder / "scores.csv").assign(**{name: "x"})
    frame[name] = [f"x{k:05d}" for k in range(len(frame))]
    frame.to_csv(tmp_path / "scores.csv", index=False)
    words = ("sample", tmp_path / "scores.csv", "--n", 20, "--out", tmp_path / "plan.csv")
    assert (
        f"1,500 documents in {tmp_path / 'scores.csv'}, identified by '{name}'"
        in run(*words).stdout
    )
    assert pd.read_csv(tmp_path / "plan.csv").columns.tolist() == [name, "label"]
    frame.loc[1, name] = frame.loc[0, name]
    frame.to_csv(tmp_path / "scores.csv", index=False)
    result = run(*words)
    assert "identified by 'row', as a spreadsheet counts." in result.stderr
    assert "each row to identify documents, it repeats 'x00000'." in result.stderr
    pd.DataFrame({name: ["x00000"], "label": [1]}).to_csv(tmp_path / "read.csv", index=False)
    labels = ("--labels", tmp_path / "read.csv")
    refused = run("stop", tmp_path / "scores.csv", *labels, code=2).stderr
    assert "each row to identify documents, it repeats 'x00000'." in refused


def test_a_fit_takes_the_labels_and_the_plan_of_a_review(folder, tmp_path):
    frame, truth = named(folder, tmp_path / "scores.csv"), np.load(folder / "truth.npy")
    at = ("--n", 60, "--at-score", 1.5)
    run("sample", tmp_path / "scores.csv", *at, "--out", tmp_path / "one.csv")
    plan = pd.read_csv(tmp_path / "one.plan.csv", dtype=str).set_index("Control Number")
    blind = pd.read_csv(tmp_path / "one.csv", dtype=str)
    blind["label"] = np.array(["no", "yes"])[
        truth[plan["row"][blind.iloc[:, 0]].astype(int) - 2] * 1
    ]
    blind.sample(frac=1.0, random_state=1).to_csv(tmp_path / "one.csv", index=False)
    fit = ("fit", tmp_path / "scores.csv", "--inference", "mle", "--out", tmp_path / "fitted")
    run(*fit, "--labels", tmp_path / "one.csv")
    wanted = frame.assign(label=np.where(truth, 1.0, 0.0), inclusion=np.nan)
    wanted["label"] = wanted["label"].where(frame["Control Number"].isin(plan.index))
    found = pd.read_csv(tmp_path / "fitted" / "probabilities.csv", dtype={"Control Number": str})
    own = ["Control Number", "document", "score", "thread", "label"]
    pd.testing.assert_frame_equal(found[own], wanted[own])
    inclusion = found.set_index("Control Number")["inclusion"][plan.index]
    np.testing.assert_allclose(inclusion, plan["inclusion"].astype(float))
    assert found["inclusion"].nunique() == plan["inclusion"].nunique()  # those not drawn have one
    again = tmp_path / "fitted" / "probabilities.csv"
    found.drop(columns=["probability", "log_odds"]).to_csv(tmp_path / "joined.csv", index=False)
    words = ("--inference", "mle", "--inclusion-column", "inclusion", "--out", tmp_path / "joined")
    run("fit", tmp_path / "joined.csv", *words)
    joined = pd.read_csv(tmp_path / "joined" / "probabilities.csv", dtype={"Control Number": str})
    pd.testing.assert_frame_equal(pd.read_csv(again, dtype={"Control Number": str}), joined)
    refused = run("fit", tmp_path / "joined.csv", "--labels", tmp_path / "one.csv", code=2).stderr
    assert "must have no column 'label' beside --labels" in refused
    assert "need --labels" in run("fit", tmp_path / "joined.csv", "--id-column", "x", code=2).stderr


def test_a_plan_carries_identifiers_and_comes_back_shuffled_in_words(folder, tmp_path):
    named(folder, tmp_path / "scores.csv")
    at = ("--n", 60, "--at-score", 1.5)
    run("sample", tmp_path / "scores.csv", *at, "--out", tmp_path / "plan.csv")
    blind, plan = (
        pd.read_csv(tmp_path / f"{name}.csv", dtype=str) for name in ("plan", "plan.plan")
    )
    assert blind.columns.tolist() == ["Control Number", "document", "label"]
    assert plan.columns[:3].tolist() == ["Control Number", "document", "row"]
    own = pd.read_csv(tmp_path / "scores.csv", sep=";", dtype=str, encoding="utf-8-sig")
    rows = plan["row"].astype(int) - 2
    for name in ("Control Number", "document"):
        assert plan[name].tolist() == own[name][rows].tolist()
    plan["label"] = np.array(["nein", "Ja "])[np.load(folder / "truth.npy")[rows].astype(int)]
    blind = blind.drop(columns="label").merge(plan[["document", "label"]], on="document")
    mixed = plan.sample(frac=1.0, random_state=0)
    blind.to_csv(tmp_path / "plan.csv", index=False)
    mixed.drop(columns=["row", "document"]).to_csv(tmp_path / "few.csv", index=False)
    asked = ("--at-score", 1.5, "--hidden", "none", "--labels")
    page = ("--report", tmp_path / "recall.html")
    found = run("recall", tmp_path / "scores.csv", *asked, tmp_path / "plan.csv", *page).stdout
    own.sample(frac=1.0, random_state=1).iloc[:, ::-1].to_csv(tmp_path / "again.csv", index=False)
    again = run("recall", tmp_path / "again.csv", *asked, tmp_path / "plan.csv").stdout
    assert "Positive label: 'ja', " in found
    assert "matched by the column 'Control Number'" in found
    assert "from the draw alone" in found
    assert answer(found) == answer(again)
    assert "Positive documents labelled (label ja)" in (tmp_path / "recall.html").read_text()
    few = run("recall", tmp_path / "scores.csv", *asked, tmp_path / "few.csv").stdout
    assert answer(few) == answer(found)
    wrong = mixed.assign(document=np.roll(mixed["document"], 1)).drop(columns="Control Number")
    wrong.to_csv(tmp_path / "wrong.csv", index=False)
    refused = run("recall", tmp_path / "scores.csv", *asked, tmp_path / "wrong.csv", code=2)
    assert "must hold all rows of the plan, unchanged but for labels" in refused.stderr


def test_blank_rows_count_as_a_spreadsheet_counts_them(folder, tmp_path):
    head, *lines = (folder / "scores.csv").read_text().splitlines()
    text = "\n".join([head, lines[0], "", ",", *lines[1:]])
    (tmp_path / "scores.csv").write_text(text)
    run("sample", tmp_path / "scores.csv", "--n", 60, "--out", tmp_path / "plan.csv")
    plan = pd.read_csv(tmp_path / "plan.plan.csv", dtype=str)
    for row, score in zip(plan["row"], plan["score"], strict=True):
        assert float(text.splitlines()[int(row) - 1].split(",")[0]) == float(score)
    blind = pd.read_csv(tmp_path / "plan.csv", dtype=str)
    blind.assign(label="no").to_csv(tmp_path / "plan.csv", index=False)
    asked = ("--labels", tmp_path / "plan.csv", "--at-score", 1.5, "--hidden", "none")
    run("recall", tmp_path / "scores.csv", *asked)


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """Scores of two systems, the second in another order, and labels of the same 150 items."""
    path, rng = tmp_path_factory.mktemp("rate"), np.random.default_rng(3)
    ease, asked = rng.normal(size=1_000), rng.permutation(1_000)[:150]
    for name, shift in (("new", 1.5), ("old", 0.0)):
        good = (ease + rng.logistic(size=1_000) + shift > 0.0).astype(int)
        scores = good + rng.normal(size=1_000)
        frame = pd.DataFrame({"id": np.arange(1_000), "score": scores, "good": good})
        frame["language"] = np.array(["de", "en", "fr"])[frame["id"] % 3]
        frame.loc[frame["id"] == asked[0], "language"] = "it"
        frame["prompt"] = frame["id"] // 50
        frame.loc[asked, ["id", "good"]].rename(columns={"good": "label"}).to_csv(
            path / f"{name}_labels.csv", index=False
        )
        order = rng.permutation(1_000) if name == "old" else np.arange(1_000)
        frame.iloc[order].drop(columns="good").to_csv(path / f"{name}.csv", index=False)
        np.save(path / f"{name}.npy", good)
    return path


def arrays_of(judged, name):
    scores = pd.read_csv(judged / f"{name}.csv").sort_values("id")["score"].to_numpy()
    labels = np.full(scores.size, np.nan)
    filled = pd.read_csv(judged / f"{name}_labels.csv")
    labels[filled["id"]] = filled["label"]
    return scores, labels


def assert_states(page, name, *intervals):
    """Assert that the rows of a number state its intervals with the digits of the text."""
    rows = re.findall(rf'<tr><th scope="row">{name}</th>.*?</tr>', page, re.DOTALL)
    stated = [re.findall(r"[\d.]*\d", re.sub("<[^>]*>", " ", row)) for row in rows]
    assert stated == [re.findall(r"[\d.]*\d", each) for each in intervals]


def test_a_rate_is_that_of_the_function(judged, tmp_path):
    report = tmp_path / "rate.html"
    asked = ("rate", judged / "new.csv", "--labels", judged / "new_labels.csv")
    out = run(*asked, "--design", "random", "--report", report).stdout
    page = report.read_text()
    for path in (judged / "new.csv", judged / "new_labels.csv"):
        assert hashlib.sha256(path.read_bytes()).hexdigest() in page
    assert f" read of {judged / 'new.csv'}" in page
    expected = estimate_rate(*arrays_of(judged, "new"), design="random")
    assert expected.text in out
    page = report.read_text()
    assert expected.text.splitlines()[2] in page
    assert_states(page, "rate", f"{expected:.1%}", f"{expected.classical:.1%}")
    data = json.loads(re.search(r'id="data">(.*?)</script>', page)[1])
    band, line, dots = data["evidence"][0]["series"]
    assert (np.array(band["lower"]) < line["y"]).all()
    assert (np.diff(line["x"]) > 0.0).all()
    assert len(dots["x"]) == 150
    assert "'random' or a plan" in run(*asked).stdout


def test_a_difference_of_rates_pairs_items_by_identifiers(judged, tmp_path):
    report = tmp_path / "difference.html"
    other = ("--against", judged / "old.csv", "--against-labels", judged / "old_labels.csv")
    asked = ("rate", judged / "new.csv", "--labels", judged / "new_labels.csv", *other)
    expected = compare_rates(*arrays_of(judged, "new"), *arrays_of(judged, "old"))
    assert expected.paired == 150
    assert expected.text in run(*asked, "--report", report).stdout
    assert report.read_text().count('<th scope="row">A less B') == 2
    assert "0 items are labelled for both" in run(*asked, "--unpaired").stdout


def test_slices_of_a_rate_borrow_from_each_other(judged, tmp_path):
    report, path = tmp_path / "rate.html", judged / "new.csv"
    labels = ("--labels", judged / "new_labels.csv", "--design", "random")
    out = run("rate", path, *labels, "--by-column", "language", "--report", report)
    language = pd.read_csv(path)["language"]
    expected = rates_by_slice(*arrays_of(judged, "new"), language)
    assert f"By language. {expected.text}" in out.stdout
    page = report.read_text()
    assert page.count('<th scope="row">slice ') == 8
    assert page.count('<th scope="row">all slices') == 1


def test_answers_to_one_prompt_are_clusters_of_a_rate(judged):
    """Documents of a cluster are read for both systems; labels of single documents suffice."""
    path, given = judged / "new.csv", ("--labels", judged / "new_labels.csv")
    asked = "rate", path, *given, "--cluster-column", "prompt"
    new, old = (arrays_of(judged, name) for name in ("new", "old"))
    prompt = np.arange(1_000) // 50
    expected = estimate_rate(*new, design="random", clusters=prompt)
    out = run(*asked, "--design", "random", "--by-column", "language").stdout
    assert expected.text in out
    assert f"{expected.design_effect}." in out
    other = ("--against", judged / "old.csv", "--against-labels", judged / "old_labels.csv")
    change = compare_rates(*new, *old, clusters_a=prompt, clusters_b=prompt)
    assert change.text in run(*asked, *other).stdout
    assert "column 'prompt'" in run("rate", path, *given).stderr


def test_a_judge_is_compared_with_labels_at_a_score(judged, tmp_path):
    report, path = tmp_path / "rate.html", judged / "new.csv"
    asked = ("rate", path, "--labels", judged / "new_labels.csv", "--at-score", 0.5)
    new, old = (arrays_of(judged, name) for name in ("new", "old"))
    expected = judge_agreement(*new, 0.5)
    out = run(*asked, "--design", "random", "--report", report).stdout
    assert expected.text in out
    page = report.read_text()
    assert page.count('<th scope="row">kappa') == 1
    assert f"kappa is {expected.kappa:.3f}" in page
    assert_states(page, "kappa", f"{expected.kappa:.3f}")
    assert_states(page, "sensitivity", f"{expected.sensitivity:.1%}")
    other = ("--against", judged / "old.csv", "--against-labels", judged / "old_labels.csv")
    both = run(*asked, *other, "--report", report).stdout
    assert f"A: {expected.text}" in both
    assert f"B: {judge_agreement(*old, 0.5).text}" in both
    assert report.read_text().count(": specificity") == 2
    turned = run(*asked[:4], "--at-score", -0.5, "--lower-is-positive", "--design", "random")
    assert judge_agreement(-new[0], new[1], 0.5).text in turned.stdout
    assert "threshold must divide" in run(*asked[:4], "--at-score", 99, code=2).stderr


def test_wrong_options_of_rates(judged):
    path, labels = judged / "new.csv", ("--labels", judged / "new_labels.csv")
    assert "--labels must name" in run("rate", path, code=2).stderr
    alone = run("rate", path, *labels, "--against", judged / "old.csv", code=2).stderr
    assert "must be given together" in alone
    assert "another file" in run("rate", path, *labels, "--against", path, code=2).stderr


def test_a_plan_by_score_states_its_interval_first(judged, tmp_path):
    path, filled = judged / "new.csv", tmp_path / "filled.csv"
    run("sample", path, "--n", 60, "--at-score", 1, "--out", filled)
    pd.read_csv(filled).assign(label=[0, 1] * 30).to_csv(filled, index=False)
    planned = ("rate", path, "--labels", filled)
    assert "needs no scores" in run(*planned).stdout
    assert "left out" in run(*planned, "--design", "random", code=2).stderr
    other = ("--against", judged / "old.csv", "--against-labels", judged / "old_labels.csv")
    assert "need simple random samples" in run(*planned, *other, code=2).stderr
