/**
 * Breakers are hashes: `r` revision, `v` version of the state, `d` version in the record, `b` the breaker (JSON), and as
 * asked `t` tokens, `c` cost in millionths of a dollar, `i` iterations.
 *
 * KEYS: n breakers, the set of what was added, sets of counted events. ARGV: n, index of the breaker added to (0: none),
 * its ttl, tokens, cost, iterations, name of the addition (empty: none), JSON `[set, event, mark, ...]`. Answers the
 * fields of each breaker, then the indices of events counted before.
 */
export const READ_BREAKERS = `
local n, at = tonumber(ARGV[1]), tonumber(ARGV[2])
if at > 0 then
  local new = true
  if ARGV[7] ~= '' then
    new = redis.call('SADD', KEYS[n + 1], ARGV[7]) == 1
    redis.call('PEXPIRE', KEYS[n + 1], ARGV[3])
  end
  if new then
    redis.call('HINCRBYFLOAT', KEYS[at], 't', ARGV[4])
    redis.call('HINCRBY', KEYS[at], 'c', ARGV[5])
    redis.call('HINCRBYFLOAT', KEYS[at], 'i', ARGV[6])
    redis.call('PEXPIRE', KEYS[at], ARGV[3])
  end
end
local answer = {}
for i = 1, n do answer[i] = redis.call('HMGET', KEYS[i], 'r', 'v', 'd', 'b', 't', 'c', 'i') end
local marks, counted = cjson.decode(ARGV[8]), {}
for i = 1, #marks, 3 do
  if redis.call('SISMEMBER', KEYS[n + 1 + marks[i]], marks[i + 2]) == 1 then counted[#counted + 1] = marks[i + 1] end
end
answer[n + 1] = counted
return answer
`;

/**
 * KEYS: n breakers, sets of counted events. ARGV: n, ttl of the sets, JSON `[set, mark, ...]`, then of each breaker the
 * revision it was read at, version, breaker (JSON), 1 where what was asked is forgotten, ttl. Answers 0 where any of
 * them was overtaken, and then nothing is written.
 */
export const WRITE_BREAKERS = `
local n = tonumber(ARGV[1])
for i = 1, n do
  local held = redis.call('HGET', KEYS[i], 'r') or '0'
  if held ~= ARGV[5 * i - 1] then return 0 end
end
for i = 1, n do
  local first = 5 * i - 1
  redis.call('HINCRBY', KEYS[i], 'r', 1)
  redis.call('HSET', KEYS[i], 'v', ARGV[first + 1], 'b', ARGV[first + 2])
  if ARGV[first + 3] == '1' then redis.call('HDEL', KEYS[i], 't', 'c', 'i') end
  redis.call('PEXPIRE', KEYS[i], ARGV[first + 4])
end
local marks = cjson.decode(ARGV[3])
for i = 1, #marks, 2 do redis.call('SADD', KEYS[n + marks[i]], marks[i + 1]) end
for i = n + 1, #KEYS do redis.call('PEXPIRE', KEYS[i], ARGV[2]) end
return 1
`;

/** KEYS[1] the breaker; ARGV[1] the version that is in the record. */
export const BREAKER_RECORDED = `
local held = redis.call('HMGET', KEYS[1], 'v', 'd')
if held[1] and tonumber(held[2] or 0) < tonumber(ARGV[1]) then redis.call('HSET', KEYS[1], 'd', ARGV[1]) end
return 1
`;
