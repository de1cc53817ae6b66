"""Loads the plugin for this folder alone. A project of its own needs one line in the conftest.py beside its pytest configuration:
`pytest_plugins = ["evals.pytest_plugin"]`. Here that file belongs to other tests, and pytest takes the line nowhere else."""

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.import_plugin("evals.pytest_plugin")
