"""Models by name: `open_model("provider/model")` gives something to send messages to. Prompts, caching and scoring are elsewhere."""

from evals.models.base import Baseline, Model, ModelReply, Progress
from evals.models.registry import ModelRow, list_models, open_model
from evals.models.scripted import ScriptedModel
from evals.models.weights import pull

__all__ = ["Baseline", "Model", "ModelReply", "ModelRow", "Progress", "ScriptedModel", "list_models", "open_model", "pull"]
