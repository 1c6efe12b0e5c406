-- KEYS: labels of a run and of its ancestors. ARGV: labels.
for _, key in ipairs(KEYS) do redis.call('HDEL', key, unpack(ARGV)) end
return 1
