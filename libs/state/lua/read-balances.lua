-- KEYS: marker, then account and holds of each account. ARGV: now, then the id of the run of each account of a
-- run tree, else ''. Returns amounts spent and held, the number of
-- calls without a price and the amount estimated for them, of each; nil if unseeded.
--- @include "accounts"
local marker, now = KEYS[1], ARGV[1]
if redis.call('EXISTS', marker) == 0 then return false end
local answer = {}
for i = 2, #KEYS, 2 do
  local run = ARGV[1 + i / 2]
  local account = resolved({KEYS[i], KEYS[i + 1], '', '', '', '', '', run ~= '' and run or nil})
  answer[#answer + 1] = redis.call('HGET', account[1], 'spent') or '0'
  answer[#answer + 1] = whole(heldIn(account[1], account[2], now))
  answer[#answer + 1] = redis.call('HGET', account[1], 'unpriced') or '0'
  answer[#answer + 1] = redis.call('HGET', account[1], 'guessed') or '0'
end
return answer
