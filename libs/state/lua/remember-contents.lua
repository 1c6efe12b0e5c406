-- Remembers content hashes.
--
-- KEYS: one per event. ARGV: ttl, then one hash per event. Answers the positions (from 1) of events known with another
-- content.
local ttl, conflicts = ARGV[1], {}
for i, key in ipairs(KEYS) do
  local content = ARGV[i + 1]
  local known = redis.call('SET', key, content, 'PX', ttl, 'NX', 'GET')
  if known and known ~= content then conflicts[#conflicts + 1] = i end
end
return conflicts
