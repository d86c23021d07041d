"""Whether labels still follow the calibrated probabilities, and if not, since when and how.

A running Bayes factor compares labels that go on as before with labels whose base rate, or slope,
changed at some document. Ville's inequality bounds how often it ever raises a false alarm.
"""

from bayescal.drift.changes import CHANGES as CHANGES
from bayescal.drift.changes import Change as Change
from bayescal.drift.monitor import Alarm as Alarm
from bayescal.drift.monitor import DriftMonitor as DriftMonitor
