-- KEYS: labels of a run and of its ancestors, nearest first. ARGV: lifetime in ms, which starts again. Returns labels
-- and causes in turn; a label may occur once for each key.
local found = {}
for _, key in ipairs(KEYS) do
  local labels = redis.call('HGETALL', key)
  if #labels > 0 then redis.call('PEXPIRE', key, ARGV[1]) end
  for _, text in ipairs(labels) do found[#found + 1] = text end
end
return found
