-- Remembers content hashes.
--
-- KEYS: one per event. ARGV: ttl, then one hash per event. Returns the 1-based positions of events known with other
-- content.
local ttl, conflicts = ARGV[1], {}
for i, key in ipairs(KEYS) do
  local content = ARGV[i + 1]
  local known = redis.call('SET', key, content, 'PX', ttl, 'NX', 'GET')
  if known and known ~= content then conflicts[#conflicts + 1] = i end
end
return conflicts
