"""Is this prediction that labelled statement? Matchers, their guards and thresholds, and how well they agree with people."""
