"""Labelled data: where it lies, how it is loaded, checked and described. No scoring."""
