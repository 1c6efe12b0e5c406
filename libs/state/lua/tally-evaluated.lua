-- Counts messages of one minute that were not counted yet.
--
-- KEYS: events by tenant, then bits of sequences. ARGV: ttl (ms), then per message: index of the key with its bit, the
-- bit, tenant, events.
local eventsByTenant, ttl = KEYS[1], ARGV[1]
for i = 2, #ARGV, 4 do
  local bits, bit, tenant, events = KEYS[tonumber(ARGV[i])], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]
  if redis.call('SETBIT', bits, bit, 1) == 0 then redis.call('HINCRBY', eventsByTenant, tenant, events) end
end
for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, ttl) end
