/**
 * Call histories. KEYS: hash call key -> `<status> <entered JSON>\n<result JSON>`, sorted set of the call keys in the
 * order they were entered. Statuses: `?` asked, `+` allowed, `=` completed. JSON never holds a line break.
 */
const HISTORY = `
local function put(call, value, most, ttl)
  if redis.call('HEXISTS', KEYS[1], call) == 0 then
    local last = redis.call('ZRANGE', KEYS[2], -1, -1, 'WITHSCORES')
    redis.call('ZADD', KEYS[2], (tonumber(last[2]) or 0) + 1, call)
    if redis.call('ZCARD', KEYS[2]) > tonumber(most) then
      redis.call('HDEL', KEYS[1], redis.call('ZPOPMIN', KEYS[2])[1])
    end
  end
  redis.call('HSET', KEYS[1], call, value)
  redis.call('PEXPIRE', KEYS[1], ttl)
  redis.call('PEXPIRE', KEYS[2], ttl)
end

local function values(calls)
  if #calls == 0 then return {} end
  return redis.call('HMGET', KEYS[1], unpack(calls))
end
`;

/**
 * ARGV: call key, entered JSON, most calls, ttl. A call of this key that has ended keeps its place under a name that
 * nobody asks for. Answers the calls entered before.
 */
export const ENTER_CALL = `${HISTORY}
local held = redis.call('HGET', KEYS[1], ARGV[1])
if held and string.sub(held, 1, 1) == '=' then
  local place = redis.call('ZSCORE', KEYS[2], ARGV[1])
  local ended = ARGV[1] .. '\\n' .. place
  redis.call('HDEL', KEYS[1], ARGV[1])
  redis.call('ZREM', KEYS[2], ARGV[1])
  redis.call('HSET', KEYS[1], ended, held)
  redis.call('ZADD', KEYS[2], place, ended)
end
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then put(ARGV[1], '? ' .. ARGV[2] .. '\\n', ARGV[3], ARGV[4]) end
local rank = redis.call('ZRANK', KEYS[2], ARGV[1])
if rank == 0 then return {} end
return values(redis.call('ZRANGE', KEYS[2], 0, rank - 1))
`;

/** ARGV: call key, outcome. */
export const SETTLE_CALL = `
local held = redis.call('HGET', KEYS[1], ARGV[1])
if not held or string.sub(held, 1, 1) ~= '?' then return 0 end
if ARGV[2] == 'refused' then
  redis.call('HDEL', KEYS[1], ARGV[1])
  redis.call('ZREM', KEYS[2], ARGV[1])
else
  redis.call('HSET', KEYS[1], ARGV[1], '+' .. string.sub(held, 2))
end
return 1
`;

/** ARGV: call key, entered JSON, result JSON, most calls, ttl, its call id as entered JSON has it (empty: none). Answers the other calls. */
export const COMPLETE_CALL = `${HISTORY}
local function openOf(id)
  local calls = redis.call('ZRANGE', KEYS[2], 0, -1)
  for i, value in ipairs(values(calls)) do
    if string.sub(value, 1, 1) ~= '=' and string.find(value, id, 1, true) then return calls[i] end
  end
end

local key = ARGV[1]
if ARGV[6] ~= '' and redis.call('HEXISTS', KEYS[1], key) == 0 then key = openOf(ARGV[6]) or key end
local held = redis.call('HGET', KEYS[1], key)
if not held then
  put(key, '= ' .. ARGV[2] .. '\\n' .. ARGV[3], ARGV[4], ARGV[5])
elseif string.sub(held, 1, 1) ~= '=' then
  put(key, '=' .. string.sub(held, 2) .. ARGV[3], ARGV[4], ARGV[5])
end
local others = {}
for _, call in ipairs(redis.call('ZRANGE', KEYS[2], 0, -1)) do
  if call ~= key then others[#others + 1] = call end
end
return values(others)
`;

/** Answers all calls. */
export const READ_CALLS = `${HISTORY}
return values(redis.call('ZRANGE', KEYS[2], 0, -1))
`;
