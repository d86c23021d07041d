"""What commands that fit say and write: fit, compare, text fit, recalibrate."""

from functools import partial

from tests.shell_answers import said

QUICK = "--draws 30 --chains 2"
STRAIGHT = f"--parts logistic {QUICK}"
NORMAL = f"--family gaussian {QUICK}"
MLE = "--inference mle"
BY_TOPIC = "--topic-column topic"
THREE = "--classes ant,bee,wasp"

COMMANDS = {
    "fit": f"fit scores.csv {STRAIGHT} --out one",
    "fit, parameters": f"fit words.csv --positive no --parameters {NORMAL} --level 0.8",
    "fit, several parts": f"fit scores.csv --parts densities,monotone {NORMAL} --seed 5 --out one",
    "fit, blank": f"fit blank.csv {MLE} --out one --format parquet",
    "fit, test rows": f"fit split.csv {NORMAL} --out one",
    "fit, split column": f"fit split.csv {MLE} --split-column split --parameters",
    "fit, topics": f"fit split_topics.csv {BY_TOPIC} {STRAIGHT} --out many --level 0.5",
    "fit, topics by mle": f"fit split_topics.csv {BY_TOPIC} {MLE} --parameters",
    "fit, topic left out": f"fit one_class.csv {BY_TOPIC} {MLE} --out many",
    "fit, pool": f"fit split_topics.csv {BY_TOPIC} --pool {NORMAL} --out many --parameters",
    "fit, weights": f"fit scores.csv {MLE} --weight-column weight --out one",
    "fit, inclusion": f"fit scores.csv {STRAIGHT} --inclusion-column inclusion",
    "fit, lower": f"fit lower.csv {STRAIGHT} --lower-is-positive --out one",
    "fit, wrong way": f"fit lower.csv {MLE}",
    "fit, log-odds": f"fit scores.csv {STRAIGHT} --scores-are log_odds --prior-knowledge vague",
    "fit, probabilities": f"fit outcomes.csv --score-column p --label-column y {MLE}"
    " --scores-are probabilities",
    "fit, quiet": f"fit topics.csv {MLE} -q --out one",
    "fit, classes": f"fit logits.csv {THREE} {QUICK} --out three --parameters",
    "fit, classes, test rows": f"fit split_logits.csv {THREE} --draws 8 --weight-column weight"
    " --out three --level 0.6 --format parquet",
    "fit, classes sampled": f"fit split_logits.csv {THREE} --draws 9 --inclusion-column inclusion",
    "compare": f"compare scores.csv {NORMAL} --out one",
    "compare, holdout": f"compare blank.csv {STRAIGHT} --holdout 0.45 --seed 3 --level 0.6",
    "compare, topics": f"compare split_topics.csv {BY_TOPIC} {STRAIGHT}",
    "compare, nothing held out": f"compare scores.csv {STRAIGHT} --holdout 0.001",
    "compare, classes": f"compare split_logits.csv {THREE} --draws 8 --out three",
    "recalibrate": "recalibrate outcomes.csv --out mended",
    "recalibrate, sites": "recalibrate outcomes.csv --site-column site --level 0.5 --out mended",
    "recalibrate, never": "recalibrate outcomes.csv --refit never --positive 0 --seed 2 --out m",
    "text": "text fit docs.csv --words 9 --folds 2 --out grain",
    "text, bayes": "text fit docs.csv --classifier naive_bayes --positive grain --level 0.5",
}
CASES = {name: partial(said, command) for name, command in COMMANDS.items()}
