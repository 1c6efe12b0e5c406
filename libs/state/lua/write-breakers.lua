-- KEYS: n breakers, sets of counted events. ARGV: n, ttl of the sets, JSON `[set, mark, ...]`, then of each breaker its
-- expected revision, version, breaker (JSON), 1 to reset usage from questions, ttl. Returns 0 and writes nothing if a
-- revision has changed.
local n, setTtl, marks = tonumber(ARGV[1]), ARGV[2], cjson.decode(ARGV[3])
for i = 1, n do
  local held = redis.call('HGET', KEYS[i], 'r') or '0'
  if held ~= ARGV[5 * i - 1] then return 0 end
end
for i = 1, n do
  local version, breaker, forget, ttl = unpack(ARGV, 5 * i, 5 * i + 3)
  redis.call('HINCRBY', KEYS[i], 'r', 1)
  redis.call('HSET', KEYS[i], 'v', version, 'b', breaker)
  if forget == '1' then redis.call('HDEL', KEYS[i], 't', 'u', 'i') end
  redis.call('PEXPIRE', KEYS[i], ttl)
end
for i = 1, #marks, 2 do redis.call('SADD', KEYS[n + marks[i]], marks[i + 1]) end
for i = n + 1, #KEYS do redis.call('PEXPIRE', KEYS[i], setTtl) end
return 1
