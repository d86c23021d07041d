"""Colours of plots and pages, distinguishable with every kind of colour vision."""

from types import MappingProxyType

# M. Okabe and K. Ito, Color universal design (2008).
OKABE_ITO = MappingProxyType(
    {
        "black": "#000000",
        "orange": "#E69F00",
        "sky blue": "#56B4E9",
        "bluish green": "#009E73",
        "yellow": "#F0E442",
        "blue": "#0072B2",
        "vermilion": "#D55E00",
        "reddish purple": "#CC79A7",
    }
)
POSTERIOR_COLOUR, MLE_COLOUR = OKABE_ITO["blue"], OKABE_ITO["vermilion"]
# Negative and positive class: one light, one dark, also in grey.
CLASS_COLOURS = (OKABE_ITO["orange"], OKABE_ITO["bluish green"])
DATA_COLOUR, FAINT_COLOUR = "#333333", "#999999"
