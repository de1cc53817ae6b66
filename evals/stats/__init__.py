"""Uncertainty of figures: intervals from whole conversations, paired differences. No figures of its own, no verdicts."""

from evals.stats.auroc import WeightedAuroc
from evals.stats.bootstrap import cluster_bootstrap, cluster_bootstrap_items
from evals.stats.figures import Figure, HarmonicMean, Proportion
from evals.stats.interval import FEW, Interval
from evals.stats.paired import PairedDifference, paired_difference

__all__ = [
    "FEW",
    "Figure",
    "HarmonicMean",
    "Interval",
    "PairedDifference",
    "Proportion",
    "WeightedAuroc",
    "cluster_bootstrap",
    "cluster_bootstrap_items",
    "paired_difference",
]
