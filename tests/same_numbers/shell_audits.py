"""What commands say of given probabilities and of wrong calls: audit, lr, models."""

from functools import partial

from tests.same_numbers.shell_answers import CLASSES, MANY, ML, ONE, POOL
from tests.same_numbers.shell_fits import STRAIGHT
from tests.shell_answers import said

COMMANDS = {
    "audit": ("audit outcomes.csv --out audit.html",),
    "audit, sites": ("audit outcomes.csv --site-column site --threshold 0.3 --level 0.5",),
    "audit, costs": ("audit outcomes.csv --miss-cost 4 --positive 0 --seed 3 -q",
                     "audit outcomes.csv --miss-cost 4"),
    "audit, no labels": ("audit --no-labels outcomes.csv next.csv",
                         "audit --no-labels outcomes.csv next.csv --threshold 0.3 --level 0.5"),
    "lr": ("lr pairs.csv --folds 3 --draws 20 --out lr.html --ratios ratios.csv",),
    "lr, sources": ("lr pairs.csv --source-columns a,b --folds 3 --draws 20 --level 0.5"
                    " --support none --title Mine --seed 3 --ratios ratios.csv",),
}  # fmt: skip
WRONG = (
    "predict one new.csv --level 0", "predict one new.csv --band all", "predict one new.csv"
    " --prior 1", "predict one new.csv --support good", "predict one new.csv --out new.csv",
    "predict one new.csv --out out.txt", "predict one new.csv --out none/out.csv",
    "predict one new.csv --out one.csv/", "predict none new.csv", "predict new.csv one",
    "predict one new.csv --shares 0.5,0.5", "predict one new.csv --topic-column weight",
    "predict one new.csv --test", "predict one words.csv --test", "predict one new.csv"
    " --likelihood-ratio", "predict one one/probabilities.csv", "predict many new_topics.csv",
    "predict many scores.csv --topic-column document", "predict three new_logits.csv --prior 0.5",
    "predict three new_logits.csv --band hdi", "predict three new_logits.csv --shares 1,2",
    "predict three new_logits.csv --shares a,b,c", "predict three new.csv",
    "decide one new.csv", "decide one new.csv --at 0.5 --recall 0.5", "decide one new.csv --at 1",
    "decide one new.csv --recall 1", "decide one new.csv --at 0.5 --assurance 0.9",
    "decide one new.csv --recall 0.5 --assurance 1", "decide one new.csv --at 0.5 --prior 0",
    "decide one new.csv --at 0.5 --level 1", "decide one new.csv --at-score inf",
    "decide one new.csv --at 0.5 --seed -1", "decide one new.csv --at 0.5 --abstain-cost 1",
    "decide one new.csv --costs costs.csv", "decide three new_logits.csv --at 0.5",
    "decide three new_logits.csv --level 1", "decide three new_logits.csv --costs new.csv",
    "decide three new_logits.csv --costs turned.csv", "decide three new_logits.csv --costs bad.csv",
    "decide wrong lower.csv --at 0.5", "decide flat new.csv --at-score 0.5",
    "decide flat new.csv --at 0.5", "report one --level 1", "report one --recall 1",
    "report one --out page.txt", "report three --collection new.csv",
    "report one --likelihood-ratio", "report one --test new.csv",
    "export one --out one.txt --format sql", "export one --out one.sql", "export one --out one.py"
    " --format xml", "export one --out one.py --topic corn", "export pool --out one.py",
    "export ml --out ml.py", "export one --out none/one.py", "export three --out three.sql"
    " --format sql", "audit outcomes.csv --level 1", "audit outcomes.csv --seed -1",
    "audit outcomes.csv outcomes.csv", "audit --no-labels outcomes.csv",
    "audit --no-labels outcomes.csv next.csv --miss-cost 2",
    "audit --no-labels outcomes.csv next.csv --out page.html",
    "audit outcomes.csv --out page.txt", "audit outcomes.csv --threshold 1",
    "audit outcomes.csv --threshold 0.5 --miss-cost 2", "audit outcomes.csv --inclusion-column p",
    "lr pairs.csv --level 1", "lr pairs.csv --support good", "lr pairs.csv --folds 1",
    "lr pairs.csv --draws 0", "lr pairs.csv --source-columns a",
    "lr pairs.csv --source-columns a,a",
    "lr pairs.csv --source-columns a,,b", "lr pairs.csv --out page.txt", "lr pairs.csv --ratios"
    " pairs.csv", "lr pairs.csv --source-columns b,document", "models new", "models none",
    "models one/posterior.nc", "models new mine.txt", "models new none/mine.py", "models a b.py",
)  # fmt: skip
WRONG_FITS = (
    "fit", "fit none.csv", "fit scores.csv --draws 0", "fit scores.csv --draws many",
    "fit scores.csv --chains=few", "fit scores.csv --chains 0", "fit scores.csv --jobs 0",
    "fit scores.csv --tune -1", "fit scores.csv --seed -1", "fit scores.csv --level 0",
    "fit scores.csv --level 1", "fit scores.csv --target-accept 1", "fit scores.csv --parts curves",
    "fit scores.csv --family normal", "fit scores.csv --scores-are numbers",
    "fit scores.csv --inference exactly",
    "fit scores.csv --model gaussian --family gaussian",
    "fit scores.csv --model gaussian --parts logistic",
    "fit scores.csv --model gaussian --inference mle",
    "fit scores.csv --model gaussian --covariate-columns length",
    "fit scores.csv --covariate-columns length",
    "fit scores.csv --family gaussian --parts logistic",
    "fit scores.csv --lower-is-positive --scores-are probabilities",
    "fit scores.csv --pool", "fit topics.csv --topic-column topic --pool --inference mle",
    "fit topics.csv --topic-column topic --pool --prior-knowledge vague",
    "fit topics.csv --topic-column topic --pool --family hybrid",
    "fit topics.csv --topic-column topic --pool --family gaussian --parts logistic",
    "fit topics.csv --topic-column topic --pool --model gaussian",
    "fit scores.csv --prior-knowledge guessed", "fit scores.csv --prior-knowledge none.nc",
    "fit scores.csv --resume", "fit topics.csv --topic-column topic --resume",
    "fit topics.csv --resume --out here", "fit scores.csv --out scores.csv",
    "fit scores.csv --out scores.csv/in", "fit scores.csv --score-column label",
    "fit scores.csv --score-column Score", "fit scores.csv --score-column words",
    "fit scores.csv --label-column document", "fit scores.csv --positive 2",
    "fit scores.csv --topic-column topic", "fit scores.csv --weight-column size",
    "fit scores.csv --weight-column weight --inclusion-column inclusion",
    "fit scores.csv --inclusion-column weight", "fit scores.csv --weight-column score",
    "fit scores.csv --split-column document", "fit words.csv --score-column label",
    "fit one_class.csv --label-column topic", "fit logits.csv --classes ant",
    "fit logits.csv --classes ant,bee,,wasp", "fit logits.csv --classes ant,bee,ant",
    "fit logits.csv --classes ant,bee", "fit logits.csv --classes ant,bee,cow",
    "fit logits.csv --classes ant,bee,wasp,label", "fit logits.csv --classes ant,bee,wasp --pool",
    "fit logits.csv --classes ant,bee,wasp --level 1",
    "fit logits.csv --classes ant,bee,wasp --scores-are log_odds",
    "fit logits.csv --classes ant,bee,wasp --label-column ant",
    "fit split_logits.csv --classes ant,bee,wasp --weight-column weight --inclusion-column a",
    "fit logits.csv --classes ant,bee,wasp --scores-are probabilities",
    "compare scores.csv --inference mle", "compare scores.csv --holdout 0",
    "compare scores.csv --holdout 1", "compare split.csv --holdout 0.3",
    "compare scores.csv --draws 0", "compare logits.csv --classes ant,bee,wasp --inference exact",
    "text fit none", "text fit none.csv", "text fit docs.csv --words 0",
    "text fit docs.csv --folds 1", "text fit docs.csv --classifier forest",
    "text fit docs.csv --text-column words", "text fit docs.csv --seed -1",
    "text fit scores.csv --text-column document", "recalibrate outcomes.csv",
    "recalibrate outcomes.csv --out m --level 1", "recalibrate outcomes.csv --out m --seed -1",
    "recalibrate outcomes.csv --out m --refit sometimes", "recalibrate scores.csv --out m",
    "recalibrate outcomes.csv --out m --probability-column y --label-column p",
    "recalibrate outcomes.csv --out m --site-column town",
)  # fmt: skip
WRONG_FIT = "fit lower.csv --parts logistic --draws 30 --chains 2 --out wrong"
FLAT = f"fit flat.csv {STRAIGHT} --out flat"


def _flat():
    """Return scores that say nothing, and files of costs that are wrong."""
    rows = (f"{k % 13},{k % 2}" for k in range(4000))
    return {
        "flat.csv": "score,label\n" + "\n".join(rows) + "\n",
        "turned.csv": "decision,ant,bee,wasp\nbee,0,1,2\nant,1,0,2\nwasp,1,1,0\n",
        "bad.csv": "decision,ant,bee,wasp\nant,0,1,2\nbee,1,0,x\nwasp,1,1,0\n",
    }


CASES = {
    **{name: partial(said, *commands) for name, commands in COMMANDS.items()},
    "wrong calls": partial(said, *WRONG, after=(ONE, MANY, CLASSES, ML, POOL, WRONG_FIT)),
    "scores that say nothing": lambda: said(
        FLAT, *(each for each in WRONG if "flat" in each), files=_flat()),
    "wrong costs": lambda: said(
        *(each for each in WRONG if "costs" in each), after=(CLASSES,), files=_flat()),
    "wrong fits": partial(said, *WRONG_FITS),
}  # fmt: skip
