/**
 * A field of an agent's cooldowns holds `<when> <trigger id>`, and after that ` <when rearmed>` where the cooldown of what
 * fired before was ended.
 *
 * KEYS[1] the agent's cooldowns; ARGV: trigger id, when it fired (ms), cooldown (ms), lifetime (ms), whose cooldown it is.
 * Answers 1 if the trigger may stand.
 */
export const CLAIM = `
local held = redis.call('HGET', KEYS[1], ARGV[5])
local rearmed = ''
if held then
  local when, trigger, epoch = string.match(held, '^(%S+) (%S+)(.*)$')
  if trigger == ARGV[1] then return 1 end
  local at, heldAt = tonumber(ARGV[2]), tonumber(when)
  rearmed = epoch
  local rearmedAt = epoch ~= '' and tonumber(epoch) or nil
  if rearmedAt and at < rearmedAt then return 0 end
  if not (rearmedAt and heldAt < rearmedAt) then
    if math.abs(at - heldAt) < tonumber(ARGV[3]) then return 0 end
    if at < heldAt then return 1 end
  end
end
redis.call('HSET', KEYS[1], ARGV[5], ARGV[2] .. ' ' .. ARGV[1] .. rearmed)
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[4]) then redis.call('PEXPIRE', KEYS[1], ARGV[4]) end
return 1
`;

/** KEYS[1] the agent's cooldowns; ARGV: from when on triggers may stand again (ms), whose cooldowns. */
export const REARM = `
for i = 2, #ARGV do
  local held = redis.call('HGET', KEYS[1], ARGV[i])
  if held then
    local holder, epoch = string.match(held, '^(%S+ %S+)(.*)$')
    if epoch == '' or tonumber(epoch) < tonumber(ARGV[1]) then
      redis.call('HSET', KEYS[1], ARGV[i], holder .. ' ' .. ARGV[1])
    end
  end
end
`;
