"""The figures of a tally with their intervals: those of summed counts, and AUROC, which needs the candidates."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from evals.metrics.tally import Tally
from evals.stats import Figure, Interval, WeightedAuroc, cluster_bootstrap, cluster_bootstrap_items


def intervals_of(tally: Tally, figures: Mapping[str, Figure], *, resamples: int, seed: int) -> dict[str, Interval]:
    """Return figures by name, "auroc" (does salience rank hits above false positives?) among them, with 95% intervals over conversations.

    Args:
        tally: The counts.
        figures: Functions of summed counts, by name.
        resamples: Of the cluster bootstrap, 1 or more.
        seed: Of its generator.
    """
    found = cluster_bootstrap(tally.by_conversation, figures, resamples=resamples, seed=seed)
    auroc = WeightedAuroc(np.array(tally.salience), np.array(tally.good, dtype=np.bool_), np.array(tally.owner, dtype=np.intp))
    return found | cluster_bootstrap_items({"auroc": auroc}, len(tally), resamples=resamples, seed=seed)
