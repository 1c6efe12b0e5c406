-- Fields of the hash: `?call` of a source call without a result, `open` with their number, `@call` with the cause of one
-- with a result, `full` if not all fingerprints are stored, `size` with the number of fingerprints, and for each
-- fingerprint its place and call.
--
-- KEYS: evidence of a label. ARGV: lifetime in ms, maximum number of fingerprints, call; if its result is known, the
-- cause, 1 if all of its fingerprints follow, and fingerprints and places in turn.
local evidence, call = KEYS[1], ARGV[3]
if ARGV[4] == nil then
  if redis.call('HSETNX', evidence, '?' .. call, '1') == 1 then redis.call('HINCRBY', evidence, 'open', 1) end
else
  if redis.call('HDEL', evidence, '?' .. call) == 1 then redis.call('HINCRBY', evidence, 'open', -1) end
  redis.call('HSET', evidence, '@' .. call, ARGV[4])
  if ARGV[5] ~= '1' then redis.call('HSET', evidence, 'full', '1') end
  local size = tonumber(redis.call('HGET', evidence, 'size') or '0')
  for place = 6, #ARGV, 2 do
    if redis.call('HEXISTS', evidence, ARGV[place]) == 0 then
      if size >= tonumber(ARGV[2]) then
        redis.call('HSET', evidence, 'full', '1')
        break
      end
      redis.call('HSET', evidence, ARGV[place], ARGV[place + 1] .. '\n' .. call)
      size = size + 1
    end
  end
  redis.call('HSET', evidence, 'size', size)
end
redis.call('PEXPIRE', evidence, ARGV[1])
return 1
