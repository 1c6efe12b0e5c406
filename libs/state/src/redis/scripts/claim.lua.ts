/**
 * KEYS[1] the cooldown; ARGV: trigger id, when it fired (ms), cooldown (ms), lifetime of the key (ms). The key holds
 * `<when> <trigger id>`. Answers 1 if the trigger may stand.
 */
export const CLAIM = `
local held = redis.call('GET', KEYS[1])
if held then
  local space = string.find(held, ' ', 1, true)
  if string.sub(held, space + 1) == ARGV[1] then return 1 end
  local apart = tonumber(ARGV[2]) - tonumber(string.sub(held, 1, space - 1))
  if math.abs(apart) < tonumber(ARGV[3]) then return 0 end
  if apart < 0 then return 1 end
end
redis.call('SET', KEYS[1], ARGV[2] .. ' ' .. ARGV[1], 'PX', ARGV[4])
return 1
`;
