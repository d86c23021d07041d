"""Commands: what they print, and the tables, summaries and pages that they write."""

import shlex
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest

from tests.cli_tools import run
from tests.pages import write_samples
from tests.recorded.report import _read

SUFFIXES = (".csv", ".json", ".html", ".sql", ".py", ".onnx")


def _said(*lines):
    """Run commands in a new folder, and return the output and the files of each."""
    found = {}
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr("sys.argv", ["bayescal"])  # which a plan names
        for name in ("decide", "predict", "report"):
            patch.setattr(f"bayescal.cli.commands.{name}.ROWS", 25)
        # Chains and single precision would amplify rounding errors.
        patch.setattr("bayescal.fitting.engines.multiclass.engine.CHAINS", None)
        patch.setattr("bayescal.fitting.engines.multiclass.features._single", np.asarray)
        write_samples(Path())
        frame, row = pd.read_csv("scores.csv"), np.arange(120)
        odd = {
            "w": 0.5 + row % 3,
            "c": row // 2,
            "i": 1.0 / (1 + row // 2 % 2),
            "p": (row + 1) / 122,
        }
        frame = frame.assign(**odd, split=np.where(row < 80, "train", "test"))
        frame.to_csv("odd.csv", sep=";", decimal=",", index=False)
        frame[["score"]].to_csv("bare.csv", index=False)
        texts = pd.read_csv("docs.csv", dtype=str)
        texts.loc[::9] = ["wheat unheard of", ""]
        texts.to_csv("docs.csv", index=False)
        seen = set(Path().rglob("*"))
        for line in lines:
            result = run(*shlex.split(line))
            new = sorted(set(Path().rglob("*")) - seen)
            seen.update(new)
            files = [each for each in new if each.suffix in SUFFIXES]
            read = [_read(each) for each in files]
            found[line] = [result.stdout, result.stderr, read]
            if line.startswith("sample") and files:  # the drawn documents are labelled
                drawn = pd.read_csv(files[0])
                label = frame["label"][drawn["row"] - 2].to_numpy()
                doubt = np.where(drawn["row"] % 9, label, 1 - label)
                drawn.assign(label=label, bob=doubt).to_csv(files[0], index=False)
    return found


def scores():
    return _said(
        "fit scores.csv --parts densities,logistic --family gaussian --draws 9 --seed 1 --out one",
        "predict one held_out.csv --test --out p.csv --level 0.8",
        "predict one new.csv --likelihood-ratio --level 0.8 --out lr.csv",
        "predict one new.csv --prior 0.4 --band simultaneous --out n.parquet",
        "decide one n.parquet --at 0.4 --level 0.8 --prior 0.3",
        "decide one '[hn]e[wl]*[wt].csv' --at-score 0.5 --seed 1",
        "report one --test held_out.csv --collection new.csv --at-score 0.6 --likelihood-ratio",
        "export one --format json --out a.json --level 0.8",
        "export one --format sql --prior 0.3 --out a.sql",
        "fit odd.csv --weight-column w --split-column split --inference mle --parameters",
        "fit odd.csv --cluster-column c --inclusion-column i --parts logistic --draws 9",
        "fit scores.csv --positive 0 --lower-is-positive --inference mle --out low",
        "predict low '[hn]e[wl]*[wt].csv' --out folder --on-error skip",
        "export low --no-band --out low.py",
    )


def topics_and_classes():
    return _said(
        "fit scores.csv --topic-column topic --parts logistic --draws 9 --holdout 0.3 --out topics",
        "predict topics new.csv --topic-column topic --out q.csv",
        "decide topics new.csv --topic-column topic --recall 0.8 --assurance 0.7 --out t.csv",
        "export topics --topic corn --format onnx --out b.onnx",
        "fit scores.csv --topic-column topic --pool --draws 9 --parameters --seed 1 --out pool",
        "report pool --topic-column topic --recall 0.7 --level 0.8 --test held_out.csv",
        "fit logits.csv --classes ant,bee,wasp --draws 9 --holdout 0.3 --seed 1 --out insects",
        "predict insects held_out_logits.csv --test --level 0.8 --out p.csv",
        "predict insects new_logits.csv --shares 0.5,0.3,0.2",
        "decide insects new_logits.csv --abstain-cost 0.2 --out d.csv",
        "report insects --test held_out_logits.csv --level 0.8 --out r.html",
        "export insects --format json --out a.json --level 0.8",
        "export insects --format onnx --out a.onnx",
        "fit grades.csv --grades poor,fair,good --parts logistic --draws 9 --holdout 0.3 --out g",
        "predict g held_out_grades.csv --test --level 0.8 --out g.csv",
    )


def reviews():
    return _said(
        "sample scores.csv --n 40 --at-score 0.5 --out drawn.csv --show-columns topic --seed 1",
        "recall scores.csv --labels drawn.csv --at-score 0.5 --report r.html --simultaneous",
        "recall scores.csv --labels drawn.csv --at-score 0.5 --level 0.8 --seed 1"
        " --reviewer-columns label,bob --conflicts c.csv",
        "recall scores.csv --labels read.csv --at-score 0.5 --reviewer-error 0.1 0.02 --in-sample",
        "sample scores.csv --labels drawn.csv --n 20 --at-score 0.5 --for precision --out more.csv",
        "fit bare.csv --labels drawn.csv --parts logistic --draws 9",
        "sample odd.csv --n 20 --group-column c --at-score 0.5 --out group.csv",
        "recall odd.csv --labels group.csv --at-score 0.5 --group-column c --of groups"
        " --hidden none --report group.html",
        "stop scores.csv --labels read.csv --recall 0.7 --assurance 0.8 --hidden learned --seed 1",
        "rate scores.csv --labels read.csv --at-score 1 --by-column topic --report rate.html",
        "rate scores.csv --labels read.csv --against grades.csv --against-labels read.csv"
        " --level 0.8 --seed 1 --report rates.html",
    )


def others():
    return _said(
        "audit outcomes.csv --site-column hospital --threshold 0.2 --seed 1 --out r.html",
        "audit outcomes.csv next_month.csv --no-labels --level 0.8",
        "audit odd.csv --label-column label --miss-cost 5 --cluster-column c --inclusion-column i",
        "recalibrate outcomes.csv --site-column hospital --level 0.8 --seed 1 --out sites",
        "recalibrate outcomes.csv --out plain --refit always",
        "plan-validation next_month.csv --slope-width 0.5 --threshold 0.2 --saving-width 0.1",
        "plan-validation --log-odds -2 1.5 --prevalence 0.2 --auc 0.8 --seed 1",
        "lr pairs.csv --source-columns a,b --folds 3 --draws 9 --level 0.8 --seed 1"
        " --ratios lr.csv --out lr.html",
        "ranking evaluate qrels.txt bm25.run dense.run -m AP -m nDCG@5 --out e.csv",
        "ranking fit qrels.txt bm25.run --recall 0.7 --level 0.8 --out p.csv --report rank.html",
        "text fit docs.csv --folds 2 --words 8 --seed 1 --level 0.8 --out texts",
        "text predict texts new_docs.csv --level 0.8",
        "examples files",
    )
