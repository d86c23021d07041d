"""What commands say of fitted calibrators, and write: predict, decide, report, export."""

from functools import partial

from tests.same_numbers.shell_fits import BY_TOPIC, MLE, NORMAL, QUICK, STRAIGHT, THREE
from tests.shell_answers import said

ONE = f"fit scores.csv {STRAIGHT} --out one"
TWO_PARTS = f"fit scores.csv --parts densities,logistic {NORMAL} --out both"
ML = f"fit scores.csv {MLE} --out ml"
LOWER = f"fit lower.csv {STRAIGHT} --lower-is-positive --out lower"
WORDS = f"fit words.csv {MLE} --out words"
MANY = f"fit one_class.csv {BY_TOPIC} {STRAIGHT} --out many"
POOL = f"fit topics.csv {BY_TOPIC} --pool {NORMAL} --out pool"
CLASSES = f"fit logits.csv {THREE} {QUICK} --out three"
OUT = "--out out.csv"

COMMANDS = {
    "predict": (ONE, f"predict one new.csv {OUT}"),
    "predict, on the screen": (ML, "predict ml/posterior.nc read_scores.csv"),
    "predict, parquet": (ONE, "predict one new.csv --level 0.5 --band hdi --out out.parquet"),
    "predict, simultaneous": (ONE, f"predict one new.csv --band simultaneous --prior 0.1 {OUT}"),
    "predict, lower": (LOWER, f"predict lower lower.csv {OUT}"),
    "predict, turned": (ONE, f"predict one lower.csv --lower-is-positive {OUT}"),
    "predict, tested": (ONE, f"predict one held_out.csv --test {OUT}"),
    "predict, tested on the screen": (ML, "predict ml read_scores.csv --test --prior 0.6"),
    "predict, tested by words": (WORDS, f"predict words held_out.csv --test {OUT}"),
    "predict, tested by name": (WORDS, f"predict words held_out.csv --test --positive 0 {OUT}"),
    "predict, topics": (MANY, f"predict many new_topics.csv {BY_TOPIC} {OUT}"),
    "predict, topics tested": (MANY, f"predict many held_out.csv {BY_TOPIC} --test {OUT}"),
    "predict, pooled": (POOL, f"predict pool new_topics.csv {BY_TOPIC} {OUT} -q"),
    "predict, pooled tested": (POOL, f"predict pool held_out.csv {BY_TOPIC} --test {OUT}"),
    "predict, ratios": (TWO_PARTS, f"predict both new.csv --likelihood-ratio {OUT}"),
    "predict, ratios without words": (
        TWO_PARTS, f"predict both new.csv --likelihood-ratio --support none --level 0.5 {OUT}"),
    "predict, classes": (CLASSES, f"predict three new_logits.csv {OUT}"),
    "predict, classes tested": (CLASSES, "predict three logits.csv --test --shares 0.5,0.3,0.2"
                                f" --level 0.5 {OUT}"),
    "decide, at": (ONE, f"decide one new.csv --at 0.4 {OUT}"),
    "decide, at score": (ONE, "decide one new.csv --at-score 0.5 --level 0.5 --seed 2"),
    "decide, recall": (ONE, f"decide one new.csv --recall 0.8 {OUT}"),
    "decide, assured": (ONE, "decide one new.csv --recall 0.8 --assurance 0.9 --prior 0.2"),
    "decide, lower": (LOWER, f"decide lower lower.csv --at-score 0.5 {OUT}"),
    "decide, lower, recall": (LOWER, f"decide lower lower.csv --recall 0.7 {OUT}"),
    "decide, topics": (POOL, f"decide pool new_topics.csv {BY_TOPIC} --recall 0.6 {OUT}"),
    "decide, topic left out": (MANY, f"decide many new_topics.csv {BY_TOPIC} --at 0.3"),
    "decide, mle": (ML, "decide ml topics.csv --at 0.6"),
    "decide, classes": (CLASSES, f"decide three new_logits.csv {OUT}"),
    "decide, costs": (CLASSES, f"decide three new_logits.csv --costs costs.csv --abstain-cost 0.25"
                      f" --level 0.5 {OUT}"),
    "report": (ONE, "report one --out page.html"),
    "report, lower": (LOWER, "report lower --collection lower.csv --at-score 0.5 --out page.html"),
    "report, test": (TWO_PARTS, "report both --test held_out.csv --likelihood-ratio --title Mine"
                     " --level 0.8 --recall 0.7"),
    "report, topics": (MANY, f"report many --test held_out.csv --collection new_topics.csv"
                       f" {BY_TOPIC}"),
    "report, pooled": (POOL, "report pool --test held_out.csv"),
    "report, words": (WORDS, "report words --test held_out.csv --positive 1"),
    "report, classes": (CLASSES, "report three --test split_logits.csv --level 0.7"),
    "export": (ONE, "export one --out one.py", "export one --out one.json --format json --no-band",
               "export one --out one.sql --format sql --level 0.5 --prior 0.2 --score-column order",
               "export one --out one.onnx --format onnx"),
    "export, topic": (POOL, "export pool --topic corn --format sql --out corn.sql"),
    "export, lower": (LOWER, "export lower --out lower.sql --format sql --no-band"),
    "export, classes": (CLASSES, "export three --out three.py",
                        "export three --out three.json --format json"),
}  # fmt: skip
SHORT = {"read_scores.csv": "score,label,topic\n-0.5,0,a\n1.25,1,a\n0.75,1,b\n0.2,0,b\n"}
CASES = {
    name: partial(said, *commands, after=(fit,), files=SHORT)
    for name, (fit, *commands) in COMMANDS.items()
}
