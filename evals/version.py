"""The workbench's version, in one place that needs no installed metadata."""

VERSION = "0.1.0"
