"""From matches to figures: outcomes of a case, counts that add up, figures of summed counts. No model, no reading of files."""
