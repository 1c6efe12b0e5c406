"""Decisions about calls: orders, the breaker, the platform, and the fallback."""
