-- KEYS: labels of the topmost run. ARGV: lifetime in ms, maximum number of labels, cause, labels. Returns the labels
-- without room. A label that stands keeps its first cause.
local labels = KEYS[1]
local rejected = {}
for place = 4, #ARGV do
  local label = ARGV[place]
  if redis.call('HEXISTS', labels, label) == 0 then
    if redis.call('HLEN', labels) >= tonumber(ARGV[2]) then
      rejected[#rejected + 1] = label
    else
      redis.call('HSET', labels, label, ARGV[3])
    end
  end
end
redis.call('PEXPIRE', labels, ARGV[1])
return rejected
