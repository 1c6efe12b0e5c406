-- Lua shared by the scripts that set labels. Adds ARGV[from..] to the hash `labels` with this cause. A label that stands
-- keeps its first cause. Returns the added labels and those without room.
local function addLabels(labels, lifetime, room, cause, from)
  local added, rejected = {}, {}
  for place = from, #ARGV do
    local label = ARGV[place]
    if redis.call('HEXISTS', labels, label) == 0 then
      if redis.call('HLEN', labels) >= tonumber(room) then
        rejected[#rejected + 1] = label
      else
        redis.call('HSET', labels, label, cause)
        added[#added + 1] = label
      end
    end
  end
  redis.call('PEXPIRE', labels, lifetime)
  return added, rejected
end
