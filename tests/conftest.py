"""Plugins of the tests: they can be named here and in no conftest further down."""

pytest_plugins = ["pytester"]
