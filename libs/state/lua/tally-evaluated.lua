-- Counts messages of one minute that are not counted yet.
--
-- KEYS: the events by tenant, then bits of sequences. ARGV: lifetime (ms), then per message: which of KEYS holds its bit,
-- the bit, tenant, events.
local eventsByTenant, ttl = KEYS[1], ARGV[1]
for i = 2, #ARGV, 4 do
  local bits, bit, tenant, events = KEYS[tonumber(ARGV[i])], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]
  if redis.call('SETBIT', bits, bit, 1) == 0 then redis.call('HINCRBY', eventsByTenant, tenant, events) end
end
for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, ttl) end
