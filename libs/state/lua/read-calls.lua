-- KEYS: calls, their order. ARGV: none. Returns all calls.
--- @include "history"
return values(redis.call('ZRANGE', order, 0, -1))
