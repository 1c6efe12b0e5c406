import { CELLS } from './cells.lua.ts';

/**
 * Totals without counting anything. Keys: the series. Argument: JSON, one `[is ring, bucket of now, shape]` per series.
 * Answers JSON, one cell per series.
 */
export const READ = `${CELLS}
local function readRing(key, now, shape)
  local stored = redis.call('HMGET', key, 'head', 'sum')
  if not stored[1] then return '[0]' end
  local head = tonumber(stored[1])
  if shape == 0 and head == now then return encode(unpackCell(stored[2], nil, 0), 0) end
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
