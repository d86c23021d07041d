"""Formulas as MathML: what each word and each construction becomes."""

from xml.etree import ElementTree

import pytest

from bayescal.support import mathml

pytestmark = pytest.mark.one_era

MINUS = "\N{MINUS SIGN}"
WORDS = {
    "x": "<mi>x</mi>",
    "alpha": "<mi>\u03b1</mi>",
    "12.5": "<mn>12.5</mn>",
    "-3": f"<mn>{MINUS}3</mn>",
    "2e-5": f"<mn>2e{MINUS}5</mn>",
    "-": f"<mo>{MINUS}</mo>",
    "+": "<mo>+</mo>",
    "<=": "<mo>\u2264</mo>",
    "<": "<mo>&lt;</mo>",
    "~": "<mo>\u223c</mo>",
    "sum": "<mo>\u2211</mo>",
    "exp": f"{mathml.SPACE}<mi>exp</mi>{mathml.SPACE}",
    "x + 1": "<mi>x</mi><mo>+</mo><mn>1</mn>",
}
# Words stand in rows of their own.
X, Y, Z = (f"<mrow><mi>{each}</mi></mrow>" for each in "xyz")
BUILT = {
    mathml.frac("x", "y"): f"<mfrac>{X}{Y}</mfrac>",
    mathml.sub("x", "y"): f"<msub>{X}{Y}</msub>",
    mathml.sup("x", "y"): f"<msup>{X}{Y}</msup>",
    mathml.both("x", "y", "z"): f"<msubsup>{X}{Y}{Z}</msubsup>",
    mathml.root("x"): f"<msqrt>{X}</msqrt>",
    mathml.sub(mathml.sup("x", "y"), "z"): f"<msub><mrow><msup>{X}{Y}</msup></mrow>{Z}</msub>",
    mathml.words(" if a < b "): "<mtext>\u00a0if\u00a0a\u00a0&lt;\u00a0b\u00a0</mtext>",
    mathml.formula("x"): '<math display="block"><mi>x</mi></math>',
    mathml.formula("x", "y", block=False): "<math><mi>x</mi><mi>y</mi></math>",
}


@pytest.mark.parametrize(("text", "expected"), WORDS.items(), ids=WORDS)
def test_words(text, expected):
    assert mathml.row(text) == expected


@pytest.mark.parametrize(("built", "expected"), BUILT.items())
def test_constructions(built, expected):
    assert built == expected
    assert ElementTree.fromstring(built).tag == expected[1:].split(">")[0].split()[0]


def test_a_distribution_and_cases():
    found = mathml.distributed("x", "Normal", "mu", "sigma")
    inside = '(</mo><mi>\u03bc</mi><mo>,</mo><mi>\u03c3</mi><mo stretchy="false">)'
    assert found.startswith("<mi>x</mi><mo>\u223c</mo><mtext>Normal</mtext><mo")
    assert inside in found
    rows = ElementTree.fromstring(mathml.cases(("x", "y"), ("z", "1"))).findall(".//mtr")
    assert [["".join(cell.itertext()) for cell in row] for row in rows] == [["x", "y"], ["z", "1"]]
