-- KEYS: evidence of a label for a run and its ancestors. ARGV: lifetime in ms, which starts again, fingerprints. Returns
-- 1 if the evidence is complete, then for each fingerprint that is found it, its place and the cause of its call.
local found, known, complete = { 0 }, 0, true
for _, evidence in ipairs(KEYS) do
  if redis.call('PEXPIRE', evidence, ARGV[1]) == 1 then
    known = known + 1
    local open = redis.call('HGET', evidence, 'open')
    if (open and tonumber(open) > 0) or redis.call('HEXISTS', evidence, 'full') == 1 then complete = false end
    for place = 2, #ARGV do
      local stored = redis.call('HGET', evidence, ARGV[place])
      if stored then
        local split = string.find(stored, '\n', 1, true)
        local source = redis.call('HGET', evidence, '@' .. string.sub(stored, split + 1))
        found[#found + 1] = ARGV[place]
        found[#found + 1] = string.sub(stored, 1, split - 1)
        found[#found + 1] = source
      end
    end
  end
end
if known > 0 and complete then found[1] = 1 end
return found
