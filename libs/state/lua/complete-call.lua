-- KEYS: calls, their order. ARGV: call key, entered JSON, result JSON, most calls, ttl, its call id as entered JSON has it
-- (empty: none). Answers the other calls.
--- @include "history"
local key, entered, result, most, ttl, callId = unpack(ARGV)

local function openOf(id)
  local names = redis.call('ZRANGE', order, 0, -1)
  for i, value in ipairs(values(names)) do
    if string.sub(value, 1, 1) ~= '=' and string.find(value, id, 1, true) then return names[i] end
  end
end

if callId ~= '' and redis.call('HEXISTS', calls, key) == 0 then key = openOf(callId) or key end
local held = redis.call('HGET', calls, key)
if not held then
  put(key, '= ' .. entered .. '\n' .. result, most, ttl)
elseif string.sub(held, 1, 1) ~= '=' then
  put(key, '=' .. string.sub(held, 2) .. result, most, ttl)
end
local others = {}
for _, call in ipairs(redis.call('ZRANGE', order, 0, -1)) do
  if call ~= key then others[#others + 1] = call end
end
return values(others)
