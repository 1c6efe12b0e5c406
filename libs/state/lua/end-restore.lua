-- KEYS: key of this restoration, marker of complete labels. ARGV: new marker. Returns the marker, or an empty text if
-- the key of the restoration is gone, because the labels were lost again.
if redis.call('DEL', KEYS[1]) == 0 then return '' end
redis.call('SET', KEYS[2], ARGV[1], 'NX')
return redis.call('GET', KEYS[2])
