/**
 * Counts messages of one minute that are not counted yet. KEYS[1] the events by tenant, KEYS[2...] bits of sequences;
 * ARGV[1] lifetime (ms), then per message: which of KEYS holds its bit, the bit, tenant, events.
 */
export const TALLY = `
for i = 2, #ARGV, 4 do
  if redis.call('SETBIT', KEYS[tonumber(ARGV[i])], ARGV[i + 1], 1) == 0 then
    redis.call('HINCRBY', KEYS[1], ARGV[i + 2], ARGV[i + 3])
  end
end
for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, ARGV[1]) end
`;
