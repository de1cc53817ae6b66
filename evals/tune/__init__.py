"""Tuning: prompts and examples are searched for with DSPy, and what was scored is what ships. The only place that imports dspy."""
