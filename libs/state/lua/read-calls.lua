-- KEYS: calls, their order. ARGV: none. Answers all calls.
--- @include "history"
return values(redis.call('ZRANGE', order, 0, -1))
