"""The workbench: labelled data, models, runs, scores and reports for conversational memory extraction."""
