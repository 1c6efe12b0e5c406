import { LIMB } from '../../exact-sum.ts';
import { BUCKETS } from '../../lifetimes.ts';

/**
 * Lua shared by the window scripts. A cell is {count, high, low} and, in shapes 1 (spread) and 2 (quantiles),
 * {.., min, max, lastAt, lastValue, bins}; exact-sum.ts says how high and low make a sum. Cells are stored as packed
 * doubles, because Lua and cjson write numbers with 14 digits and a limb needs 16.
 */
export const CELLS = `
local LIMB, BUCKETS = ${LIMB}, ${BUCKETS}

local function emptyCell()
  return {0, 0, 0, math.huge, -math.huge, -math.huge, -math.huge, {}}
end

local function addSum(into, count, high, low)
  local newHigh, newLow = into[2] + high, into[3] + low
  if newLow >= LIMB then newHigh, newLow = newHigh + 1, newLow - LIMB end
  into[1], into[2], into[3] = into[1] + count, newHigh, newLow
end

local function takeSum(from, count, high, low)
  local newHigh, newLow = from[2] - high, from[3] - low
  if newLow < 0 then newHigh, newLow = newHigh - 1, newLow + LIMB end
  from[1], from[2], from[3] = from[1] - count, newHigh, newLow
end

local function addSpread(into, min, max, at, value)
  if min < into[4] then into[4] = min end
  if max > into[5] then into[5] = max end
  if at > into[6] or (at == into[6] and value > into[7]) then into[6], into[7] = at, value end
end

local function addBins(into, bins)
  for bin, count in pairs(bins) do into[8][bin] = (into[8][bin] or 0) + count end
end

local function merge(into, cell, shape)
  addSum(into, cell[1], cell[2], cell[3])
  if shape > 0 then addSpread(into, cell[4], cell[5], cell[6], cell[7]) end
  if shape == 2 then addBins(into, cell[8]) end
end

local function pack(cell, shape)
  if shape == 0 then return struct.pack('<ddd', cell[1], cell[2], cell[3]) end
  return struct.pack('<ddddddd', cell[1], cell[2], cell[3], cell[4], cell[5], cell[6], cell[7])
end

local function unpackCell(text, bins, shape)
  if not text then return nil end
  local count, high, low, min, max, at, value
  if shape == 0 then
    count, high, low = struct.unpack('<ddd', text)
    return {count, high, low}
  end
  count, high, low, min, max, at, value = struct.unpack('<ddddddd', text)
  return {count, high, low, min, max, at, value, bins and cmsgpack.unpack(bins) or {}}
end

local function number(value) return string.format('%.17g', value) end

-- JSON of a cell; [0] where nothing was seen.
local function encode(cell, shape)
  if cell[1] == 0 then return '[0]' end
  local sum = number(cell[1]) .. ',' .. number(cell[2]) .. ',' .. number(cell[3])
  if shape == 0 then return '[' .. sum .. ']' end
  local bins = {}
  if shape == 2 then
    for bin, count in pairs(cell[8]) do bins[#bins + 1] = '"' .. bin .. '":' .. number(count) end
  end
  return '[' .. sum .. ',' .. number(cell[4]) .. ',' .. number(cell[5]) .. ',' .. number(cell[6]) .. ','
    .. number(cell[7]) .. ',{' .. table.concat(bins, ',') .. '}]'
end

-- The buckets of a ring in the window that ends with bucket now, added up.
local function gather(key, head, now, shape)
  local flat, fields = redis.call('HGETALL', key), {}
  for i = 1, #flat, 2 do fields[flat[i]] = flat[i + 1] end
  local gathered = emptyCell()
  for epoch = math.max(head, now) - BUCKETS + 1, math.min(head, now) do
    local slot = epoch % BUCKETS
    local cell = unpackCell(fields[tostring(slot)], fields['b' .. slot], shape)
    if cell then merge(gathered, cell, shape) end
  end
  return gathered
end
`;
