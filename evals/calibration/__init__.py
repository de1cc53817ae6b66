"""Whether salience means something: figures, maps that recalibrate it, the operating threshold. Nothing here calls a model."""
