"""The handlers of the original package. Each can be imported without its framework."""
