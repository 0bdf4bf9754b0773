"""What model: the starter model, a hub id, a folder or a GGUF file; found, fetched, verified and listed.

Ends at files on disk; knows nothing of tensors in memory, devices or configuration. Importing it loads no
heavy library.
"""

from chatkv.models.digest import file_digest
from chatkv.models.files import ModelFiles
from chatkv.models.installed import InstalledModel, installed_models, lasting
from chatkv.models.progress import OnProgress, Progress
from chatkv.models.resolve import locate_model

__all__ = [
    "InstalledModel",
    "ModelFiles",
    "OnProgress",
    "Progress",
    "file_digest",
    "installed_models",
    "lasting",
    "locate_model",
]
