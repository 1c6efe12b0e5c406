-- A field of an agent's cooldowns holds `<when> <trigger id>`, and after that ` <when rearmed>` where the cooldown of what
-- fired before was ended.
--
-- KEYS: the agent's cooldowns. ARGV: trigger id, when it fired (ms), cooldown (ms), lifetime (ms), whose cooldown it is.
-- Answers 1 if the trigger may stand.
local cooldowns = KEYS[1]
local triggerId, firedAt, cooldown, ttl, owner = unpack(ARGV)
local held = redis.call('HGET', cooldowns, owner)
local rearmed = ''
if held then
  local when, trigger, epoch = string.match(held, '^(%S+) (%S+)(.*)$')
  if trigger == triggerId then return 1 end
  local at, heldAt = tonumber(firedAt), tonumber(when)
  rearmed = epoch
  local rearmedAt = epoch ~= '' and tonumber(epoch) or nil
  if rearmedAt and at < rearmedAt then return 0 end
  if not (rearmedAt and heldAt < rearmedAt) then
    if math.abs(at - heldAt) < tonumber(cooldown) then return 0 end
    if at < heldAt then return 1 end
  end
end
redis.call('HSET', cooldowns, owner, firedAt .. ' ' .. triggerId .. rearmed)
if redis.call('PTTL', cooldowns) < tonumber(ttl) then redis.call('PEXPIRE', cooldowns, ttl) end
return 1
