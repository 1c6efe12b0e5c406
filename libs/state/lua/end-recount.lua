-- KEYS: the marker. ARGV: what it says while the caller's turn stands, what it is to say. Answers 1 where it did.
local marker, expected, coming = KEYS[1], ARGV[1], ARGV[2]
if redis.call('GET', marker) ~= expected then return 0 end
redis.call('SET', marker, coming)
return 1
