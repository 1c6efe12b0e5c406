-- KEYS: the agent's cooldowns. ARGV: time from which triggers are granted again (ms), names of the cooldowns.
local cooldowns, from = KEYS[1], ARGV[1]
for i = 2, #ARGV do
  local held = redis.call('HGET', cooldowns, ARGV[i])
  if held then
    local holder, epoch = string.match(held, '^(%S+ %S+)(.*)$')
    if epoch == '' or tonumber(epoch) < tonumber(from) then
      redis.call('HSET', cooldowns, ARGV[i], holder .. ' ' .. from)
    end
  end
end
