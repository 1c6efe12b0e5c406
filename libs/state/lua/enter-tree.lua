-- KEYS: refusal of the run, children of its parent, tree of its topmost ancestor, then the trees under which it or a
-- lower ancestor was counted before. ARGV: 'enter' or 'retry', run, topmost ancestor, limits of children and of runs (-1
-- for none), lifetime in ms. Returns the reached limit, or nil.
local refusal, children, tree = KEYS[1], KEYS[2], KEYS[3]
local how, run, root, maxChildren, maxRuns, ttl = unpack(ARGV)
maxChildren, maxRuns = tonumber(maxChildren), tonumber(maxRuns)
if how == 'retry' and redis.call('EXISTS', refusal) == 0 then return false end
for i = 4, #KEYS do
  for _, moved in ipairs(redis.call('SMEMBERS', KEYS[i])) do
    if moved ~= run then redis.call('SADD', tree, moved) end
  end
  redis.call('DEL', KEYS[i])
end
if maxRuns >= 0 or redis.call('EXISTS', tree) == 1 then
  redis.call('SADD', tree, root)
  redis.call('PEXPIRE', tree, ttl)
end
local function isFull(set, max)
  return max >= 0 and redis.call('SISMEMBER', set, run) == 0 and redis.call('SCARD', set) >= max
end
local reached = isFull(children, maxChildren) and 'children' or isFull(tree, maxRuns) and 'runs'
if reached then
  redis.call('SET', refusal, '1', 'PX', ttl)
  return reached
end
redis.call('DEL', refusal)
if maxChildren >= 0 then
  redis.call('SADD', children, run)
  redis.call('PEXPIRE', children, ttl)
end
if maxRuns >= 0 then redis.call('SADD', tree, run) end
return false
