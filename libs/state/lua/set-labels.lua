-- KEYS: marker of complete labels, labels of the topmost run. ARGV: expected marker, lifetime in ms, maximum number of
-- labels, cause, labels. Returns the marker; if it is the expected one, also the added labels and those without room.
--- @include "add-labels"
local marker = redis.call('GET', KEYS[1]) or ''
if marker == '' or marker ~= ARGV[1] then return { marker } end
local added, rejected = addLabels(KEYS[2], ARGV[2], ARGV[3], ARGV[4], 5)
return { marker, added, rejected }
