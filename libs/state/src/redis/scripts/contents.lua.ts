/**
 * Remembers content hashes. Keys: one per event. Arguments: ttl, then one hash per event. Answers the positions (from
 * 1) of events known with another content.
 */
export const CONTENTS = `
local conflicts = {}
for i, key in ipairs(KEYS) do
  local known = redis.call('SET', key, ARGV[i + 1], 'PX', ARGV[1], 'NX', 'GET')
  if known and known ~= ARGV[i + 1] then conflicts[#conflicts + 1] = i end
end
return conflicts
`;
