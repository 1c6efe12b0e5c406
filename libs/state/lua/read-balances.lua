-- KEYS: marker, then account and holds of each account. ARGV: now. Returns amounts spent and held of each; nil if
-- unseeded.
--- @include "accounts"
local marker, now = KEYS[1], ARGV[1]
if redis.call('EXISTS', marker) == 0 then return false end
local answer = {}
for i = 2, #KEYS, 2 do
  answer[#answer + 1] = redis.call('HGET', KEYS[i], 'spent') or '0'
  answer[#answer + 1] = whole(heldIn(KEYS[i], KEYS[i + 1], now))
end
return answer
