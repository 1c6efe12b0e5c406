/**
 * KEYS[1] the agent's cooldowns; ARGV: trigger id, when it fired (ms), cooldown (ms), lifetime (ms), whose cooldown it is.
 * A field holds `<when> <trigger id>`. Answers 1 if the trigger may stand.
 */
export const CLAIM = `
local held = redis.call('HGET', KEYS[1], ARGV[5])
if held then
  local space = string.find(held, ' ', 1, true)
  if string.sub(held, space + 1) == ARGV[1] then return 1 end
  local apart = tonumber(ARGV[2]) - tonumber(string.sub(held, 1, space - 1))
  if math.abs(apart) < tonumber(ARGV[3]) then return 0 end
  if apart < 0 then return 1 end
end
redis.call('HSET', KEYS[1], ARGV[5], ARGV[2] .. ' ' .. ARGV[1])
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[4]) then redis.call('PEXPIRE', KEYS[1], ARGV[4]) end
return 1
`;
