import { LIMB } from '../../exact-sum.ts';
import { BUCKETS } from '../../lifetimes.ts';

/**
 * Lua shared by the window scripts. Everything that is counted lies in flat lists of doubles: a sum is three of them,
 * count, high and low (exact-sum.ts says how high and low make a sum), a spread four: least, greatest, newest time, newest
 * value. Shapes are 0 (sum), 1 (spread) and 2 (quantiles, with the bins beside the list). Bins are text,
 * `;bin=count;bin=count;`, so that one is counted up without taking the others apart.
 *
 * A ring is `{newest bucket, sum of the window, sum of the newest bucket}` and, above shape 0,
 * `{.., spread of the newest bucket, spread of the window}`: all that most messages read and change, and all that is in
 * its field of the agent's hash. The other buckets are a hash of their own, by epoch modulo 60, which is touched when
 * the newest bucket moves and by late events.
 */
export const CELLS = `
local LIMB, BUCKETS = ${LIMB}, ${BUCKETS}
local HEAD, WINDOW, NEWEST, NEWEST_SPREAD, WINDOW_SPREAD = 1, 2, 5, 8, 12
local SUM, CELL, RING, SPREAD_RING = '<ddd', '<ddddddd', '<ddddddd', '<ddddddddddddddd'
local NO_BINS = ';'

local function emptyCell()
  return {0, 0, 0, math.huge, -math.huge, -math.huge, -math.huge}
end

local function plus(list, at, count, high, low)
  local newLow = list[at + 2] + low
  if newLow >= LIMB then high, newLow = high + 1, newLow - LIMB end
  list[at], list[at + 1], list[at + 2] = list[at] + count, list[at + 1] + high, newLow
end

local function minus(list, at, count, high, low)
  local newLow = list[at + 2] - low
  if newLow < 0 then high, newLow = high + 1, newLow + LIMB end
  list[at], list[at + 1], list[at + 2] = list[at] - count, list[at + 1] - high, newLow
end

local function widen(list, at, min, max, time, value)
  if min < list[at] then list[at] = min end
  if max > list[at + 1] then list[at + 1] = max end
  if time > list[at + 2] or (time == list[at + 2] and value > list[at + 3]) then
    list[at + 2], list[at + 3] = time, value
  end
end

local function addBin(bins, bin, count)
  local _, before = string.find(bins, ';' .. bin .. '=', 1, true)
  if not before then return bins .. bin .. '=' .. count .. ';' end
  local after = string.find(bins, ';', before, true)
  return string.sub(bins, 1, before) .. string.sub(bins, before + 1, after - 1) + count .. string.sub(bins, after)
end

-- Adds a list of bin, count, bin, count.
local function addBins(bins, list)
  for i = 1, #list, 2 do bins = addBin(bins, list[i], list[i + 1]) end
  return bins
end

-- Several texts of bins as one.
local function joinBins(texts)
  local counts, list = {}, {}
  for _, text in ipairs(texts) do
    for bin, count in string.gmatch(text, '([^;=]+)=(%d+)') do counts[bin] = (counts[bin] or 0) + tonumber(count) end
  end
  for bin, count in pairs(counts) do list[#list + 1] = bin .. '=' .. count .. ';' end
  return NO_BINS .. table.concat(list)
end

local function merge(cell, other, shape)
  plus(cell, 1, other[1], other[2], other[3])
  if shape > 0 then widen(cell, 4, other[4], other[5], other[6], other[7]) end
end

local function packCell(cell, shape)
  if shape == 0 then return struct.pack(SUM, cell[1], cell[2], cell[3]) end
  return struct.pack(CELL, unpack(cell, 1, 7))
end

local function unpackCell(text, shape)
  return {struct.unpack(shape == 0 and SUM or CELL, text)}
end

-- Bins in an answer: their length, then themselves.
local function sized(text) return struct.pack('<I4', #text) .. text end

local function ringOf(text, key, shape)
  local ring
  if shape == 0 then
    ring = {struct.unpack(RING, text)}
  else
    ring = {struct.unpack(SPREAD_RING, text)}
    if shape == 2 then
      local from = ring[16] + 4
      local to = from + struct.unpack('<I4', text, ring[16])
      ring.bins, ring.window = string.sub(text, from, to - 1), string.sub(text, to)
    end
  end
  ring.key, ring.shape = key, shape
  return ring
end

-- What lies in the buckets of a ring in the window that ends with bucket now: cell and bins.
local function gather(ring, now)
  local shape, head = ring.shape, ring[HEAD]
  local cell, bins = emptyCell(), {}
  if head <= now and head > now - BUCKETS and ring[NEWEST] > 0 then
    merge(cell, {unpack(ring, NEWEST, NEWEST + 6)}, shape)
    bins[1] = ring.bins
  end
  local flat, fields = redis.call('HGETALL', ring.key), {}
  if #flat == 0 then return cell, bins[1] or NO_BINS end
  for i = 1, #flat, 2 do fields[flat[i]] = flat[i + 1] end
  for epoch = math.max(head, now) - BUCKETS + 1, math.min(head - 1, now) do
    local slot = epoch % BUCKETS
    local text = fields[tostring(slot)]
    if text then
      merge(cell, unpackCell(text, shape), shape)
      if shape == 2 then bins[#bins + 1] = fields['b' .. slot] end
    end
  end
  return cell, joinBins(bins)
end

-- A cell as an answer.
local function answerOf(cell, bins, shape)
  local text = packCell(cell, shape)
  if shape == 2 then return text .. sized(bins) end
  return text
end

-- What the window held that ends with bucket now, as an answer.
local function totalsAt(ring, now)
  local shape = ring.shape
  if ring[HEAD] ~= now then
    local cell, bins = gather(ring, now)
    return answerOf(cell, bins, shape)
  end
  if shape == 0 then return struct.pack(SUM, ring[WINDOW], ring[WINDOW + 1], ring[WINDOW + 2]) end
  local text = struct.pack(CELL, ring[WINDOW], ring[WINDOW + 1], ring[WINDOW + 2], unpack(ring, WINDOW_SPREAD, 15))
  if shape == 2 then return text .. sized(ring.window) end
  return text
end
`;
