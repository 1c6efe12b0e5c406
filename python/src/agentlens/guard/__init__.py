"""Deciding about calls: orders, the breaker, the platform, and what is done when nobody can decide."""
