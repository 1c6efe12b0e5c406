-- KEYS: labels of a run, evidence of the label. ARGV: lifetime in ms, maximum number of labels, cause, label. The evidence
-- of a label that was lost is incomplete.
--- @include "add-labels"
local added = addLabels(KEYS[1], ARGV[1], ARGV[2], ARGV[3], 4)
if #added > 0 then
  redis.call('HSET', KEYS[2], 'full', '1')
  redis.call('PEXPIRE', KEYS[2], ARGV[1])
end
return 1
