"""The exact posterior of one class: scale integrated out, mode and share on an adaptive grid."""
