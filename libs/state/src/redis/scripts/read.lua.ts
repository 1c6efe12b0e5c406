import { CELLS } from './cells.lua.ts';

/**
 * Totals without counting anything. Keys: the series. Argument: JSON, one `[is ring, bucket of now, shape]` per series.
 * Answers JSON, one cell per series.
 */
export const READ = `${CELLS}
local function readRing(key, now, shape)
  local stored = redis.call('HMGET', key, 'head', 'sum', 'w', 'wb')
  if not stored[1] then return '[0]' end
  local head, running = tonumber(stored[1]), unpackCell(stored[2], nil, 0)
  if shape == 0 and head == now then return encode(running, 0) end
  local window = shape > 0 and unpackCell(stored[3], stored[4], shape)
  if window and head == now and window[1] == running[1] then return encode(window, shape) end
  return encode(gather(key, head, now, shape), shape)
end

local totals = {}
for i, spec in ipairs(cjson.decode(ARGV[1])) do
  if spec[1] == 1 then
    totals[i] = readRing(KEYS[i], spec[2], spec[3])
  else
    local stored = redis.call('HMGET', KEYS[i], 'sum', 'b')
    totals[i] = encode(unpackCell(stored[1], stored[2], spec[3]) or emptyCell(), spec[3])
  end
end
return '[' .. table.concat(totals, ',') .. ']'
`;
