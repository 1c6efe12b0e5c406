-- A field of an agent's cooldowns contains `<time> <trigger id>` and, after a rearm, ` <time of the rearm>`.
--
-- KEYS: the agent's cooldowns. ARGV: trigger id, time it fired (ms), cooldown (ms), ttl (ms), name of the cooldown.
-- Returns 1 if the trigger is granted.
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
