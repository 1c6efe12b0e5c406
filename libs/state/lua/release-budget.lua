-- KEYS: marker (for the hash tag), then the holders. ARGV: maximum number of reservations.
-- Releases what the open calls of these holders hold. Returns 1 if more may be left. `b` of a released reservation is no
-- event, so that a cost that is reported later is charged.
--- @include "accounts"
local left = tonumber(ARGV[1])
for at = 2, #KEYS do
  local reservations = redis.call('ZRANGE', KEYS[at], 0, left - 1)
  for _, reservation in ipairs(reservations) do
    left = left - 1
    for _, call in ipairs(cjson.decode(redis.call('HGET', reservation, 'o') or '[]')) do
      for _, reserved in ipairs(cjson.decode(call[4])) do
        local account = resolved(reserved)
        if redis.call('ZREM', account[2], call[3]) == 1 then add(account[1], 'held', '-' .. call[2]) end
      end
    end
    if redis.call('HDEL', reservation, 'o') == 1 then redis.call('HSET', reservation, 'b', ' released') end
    leave(reservation)
    redis.call('ZREM', KEYS[at], reservation)
  end
  if left <= 0 then return 1 end
end
return 0
