-- KEYS: labels of a run and of its ancestors, then the evidence of the cleared labels. ARGV: number of the former,
-- labels.
local runs = tonumber(ARGV[1])
for place = 1, runs do redis.call('HDEL', KEYS[place], unpack(ARGV, 2)) end
for place = runs + 1, #KEYS do redis.call('DEL', KEYS[place]) end
return 1
