-- KEYS: calls, their order. ARGV: call key, entered JSON, result JSON, maximum number of calls, ttl, the call id as it
-- appears in the entered JSON (may be empty). Returns the other calls.
--- @include "history"
local key, entered, result, max, ttl, callId = unpack(ARGV)

local function openOf(id)
  local names = redis.call('ZRANGE', order, 0, -1)
  for i, value in ipairs(values(names)) do
    if string.sub(value, 1, 1) ~= '=' and string.find(value, id, 1, true) then return names[i] end
  end
end

if callId ~= '' and redis.call('HEXISTS', calls, key) == 0 then key = openOf(callId) or key end
local held = redis.call('HGET', calls, key)
if not held then
  put(key, '= ' .. entered .. '\n' .. result, max, ttl)
elseif string.sub(held, 1, 1) ~= '=' then
  put(key, '=' .. string.sub(held, 2) .. result, max, ttl)
end
local others = {}
for _, call in ipairs(redis.call('ZRANGE', order, 0, -1)) do
  if call ~= key then others[#others + 1] = call end
end
return values(others)
