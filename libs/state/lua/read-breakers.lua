-- A breaker is a hash: `r` revision, `v` version of the state, `d` recorded version, `b` the breaker (JSON), and usage
-- from questions: `t` tokens, `u` cost in billionths of a dollar, `i` iterations.
--
-- KEYS: n breakers, the set of additions, sets of counted events. ARGV: n, index of the breaker to add to (0: none),
-- its ttl, tokens, cost, iterations, name of the addition (may be empty), JSON `[set, event, mark, ...]`. Returns the
-- fields of each breaker, then the indices of events counted before.
local n, at = tonumber(ARGV[1]), tonumber(ARGV[2])
local ttl, tokens, cost, iterations, addition, marks = ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7], cjson.decode(ARGV[8])
local additions = KEYS[n + 1]
if at > 0 then
  local new = true
  if addition ~= '' then
    new = redis.call('SADD', additions, addition) == 1
    redis.call('PEXPIRE', additions, ttl)
  end
  if new then
    redis.call('HINCRBYFLOAT', KEYS[at], 't', tokens)
    redis.call('HINCRBYFLOAT', KEYS[at], 'u', cost)
    redis.call('HINCRBYFLOAT', KEYS[at], 'i', iterations)
    redis.call('PEXPIRE', KEYS[at], ttl)
  end
end
local answer, counted = {}, {}
for i = 1, n do answer[i] = redis.call('HMGET', KEYS[i], 'r', 'v', 'd', 'b', 't', 'u', 'i') end
for i = 1, #marks, 3 do
  if redis.call('SISMEMBER', KEYS[n + 1 + marks[i]], marks[i + 2]) == 1 then counted[#counted + 1] = marks[i + 1] end
end
answer[n + 1] = counted
return answer
