"""JSON in a model's answer: found, repaired, checked."""

from agentlens.output.validate import (
    Corrected,
    Invalid,
    Issue,
    OutputError,
    Valid,
    Validated,
    self_correct,
    validate_output,
)

__all__ = ["Corrected", "Invalid", "Issue", "OutputError", "Valid", "Validated", "self_correct", "validate_output"]
