"""Registers the plugins; nothing else."""

pytest_plugins = ["benchsuite_pytest", "benchsuite_pytest.fixtures"]
