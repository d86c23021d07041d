"""Which of several calibrators is better: labels left out, and paired tests on test documents."""

from bayescal.comparison.leave_one_out import compare_calibrators as compare_calibrators
from bayescal.comparison.leave_one_out import leave_one_out as leave_one_out
from bayescal.comparison.paired import PairedDifference as PairedDifference
from bayescal.comparison.paired import PairedSigns as PairedSigns
from bayescal.comparison.paired import paired_bootstrap as paired_bootstrap
from bayescal.comparison.paired import paired_sign_test as paired_sign_test
