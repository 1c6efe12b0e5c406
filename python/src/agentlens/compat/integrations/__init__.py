"""The handlers of the original package. Each can be imported where its framework is not installed."""
