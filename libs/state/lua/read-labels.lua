-- KEYS: marker of complete labels, labels of a run and of its ancestors, nearest first. ARGV: expected marker, lifetime
-- in ms, which starts again. Returns the marker; if it is the expected one, also labels and causes in turn. A label may
-- occur once for each key.
local marker = redis.call('GET', KEYS[1]) or ''
if marker == '' or marker ~= ARGV[1] then return { marker } end
local found = {}
for place = 2, #KEYS do
  local labels = redis.call('HGETALL', KEYS[place])
  if #labels > 0 then redis.call('PEXPIRE', KEYS[place], ARGV[2]) end
  for _, text in ipairs(labels) do found[#found + 1] = text end
end
return { marker, found }
