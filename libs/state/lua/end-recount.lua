-- KEYS: the marker. ARGV: expected value (the caller's lease), new value. Returns 1 if the value was replaced.
local marker, expected, coming = KEYS[1], ARGV[1], ARGV[2]
if redis.call('GET', marker) ~= expected then return 0 end
redis.call('SET', marker, coming)
return 1
