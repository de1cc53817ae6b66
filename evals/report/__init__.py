"""How a report looks. Every format is a function of `evals.results.Report`; nothing is computed here."""
