-- Lua shared by the call history scripts. Calls are a hash, call key -> `<status> <entered JSON>\n<result JSON>`, and a
-- sorted set of the call keys in order of entry. Statuses: `?` asked, `+` allowed, `=` completed. The JSON contains no
-- line breaks.
local calls, order = KEYS[1], KEYS[2]

local function put(call, value, max, ttl)
  if redis.call('HEXISTS', calls, call) == 0 then
    local last = redis.call('ZRANGE', order, -1, -1, 'WITHSCORES')
    redis.call('ZADD', order, (tonumber(last[2]) or 0) + 1, call)
    if redis.call('ZCARD', order) > tonumber(max) then
      redis.call('HDEL', calls, redis.call('ZPOPMIN', order)[1])
    end
  end
  redis.call('HSET', calls, call, value)
  redis.call('PEXPIRE', calls, ttl)
  redis.call('PEXPIRE', order, ttl)
end

local function values(names)
  if #names == 0 then return {} end
  return redis.call('HMGET', calls, unpack(names))
end
