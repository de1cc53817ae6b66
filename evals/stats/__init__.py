"""Uncertainty of figures: intervals from whole conversations, paired differences. No figures of its own, no verdicts."""

from evals.stats.auroc import WeightedAuroc
from evals.stats.bootstrap import cluster_bootstrap, cluster_bootstrap_items
from evals.stats.figures import Figure, HarmonicMean, MacroMean, Proportion
from evals.stats.interval import FEW, Interval
from evals.stats.paired import PairedDifference, paired_difference
from evals.stats.ruling import Ruling, conversations_needed, holm, rule, smallest_detectable

__all__ = [
    "FEW",
    "Figure",
    "HarmonicMean",
    "Interval",
    "MacroMean",
    "PairedDifference",
    "Proportion",
    "Ruling",
    "WeightedAuroc",
    "cluster_bootstrap",
    "cluster_bootstrap_items",
    "conversations_needed",
    "holm",
    "paired_difference",
    "rule",
    "smallest_detectable",
]
