"""Gates: a run held against earlier ones, by rows alone. ``grammar`` reads them, ``evaluate`` judges, ``summary`` says
what came of it."""

FILE = "gates.json"
"""What gates found, whole, in a run's folder."""
SUMMARY = "summary.md"
EXIT_GATE = 10
"""The exit status of a run whose gates were not met."""
