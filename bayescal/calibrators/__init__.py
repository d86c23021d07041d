"""Compare calibrators: by leave-one-out labels, and by paired tests on test documents."""

from bayescal.calibrators.comparison import PairedDifference as PairedDifference
from bayescal.calibrators.comparison import leave_one_out as leave_one_out
from bayescal.calibrators.comparison import paired_bootstrap as paired_bootstrap
from bayescal.calibrators.estimates import compare_estimates as compare_estimates
from bayescal.calibrators.estimates import compare_with_closed_form as compare_with_closed_form
