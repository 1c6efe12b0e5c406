-- KEYS: marker, then account and holds of each account. ARGV: now. Returns amounts spent and held, the number of
-- calls without a price and the amount estimated for them, of each; nil if unseeded.
--- @include "accounts"
local marker, now = KEYS[1], ARGV[1]
if redis.call('EXISTS', marker) == 0 then return false end
local answer = {}
for i = 2, #KEYS, 2 do
  answer[#answer + 1] = redis.call('HGET', KEYS[i], 'spent') or '0'
  answer[#answer + 1] = whole(heldIn(KEYS[i], KEYS[i + 1], now))
  answer[#answer + 1] = redis.call('HGET', KEYS[i], 'unpriced') or '0'
  answer[#answer + 1] = redis.call('HGET', KEYS[i], 'guessed') or '0'
end
return answer
