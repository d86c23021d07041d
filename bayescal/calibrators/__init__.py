"""Tables of probabilities, and comparisons: by leave-one-out labels, by paired tests."""

from bayescal.calibrators.comparison import PairedDifference as PairedDifference
from bayescal.calibrators.comparison import leave_one_out as leave_one_out
from bayescal.calibrators.comparison import paired_bootstrap as paired_bootstrap
from bayescal.calibrators.estimates import compare_estimates as compare_estimates
from bayescal.calibrators.estimates import compare_with_closed_form as compare_with_closed_form
from bayescal.calibrators.estimates import probability_table as probability_table
