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
 * its field of the agent's hash. Bins alone are not kept of the window but of its older buckets together, so that an
 * event changes one text, that of the newest; both after each other are the window's, in which a bin may come twice.
 * The other buckets are a hash of their own, by epoch modulo 60, which is touched when the newest bucket moves and by
 * late events. Rings lie one after the other in one list, each known by where it begins, so that all of an agent's are
 * unpacked and packed at once.
 */
export const CELLS = `
local LIMB, BUCKETS = ${LIMB}, ${BUCKETS}
-- Where the parts of a ring are, from its beginning.
local HEAD, WINDOW, NEWEST, NEWEST_SPREAD, WINDOW_SPREAD = 0, 1, 4, 7, 11
local SUM, CELL = '<ddd', '<ddddddd'
-- Of shape 0 and of the others: doubles of a ring, and their bytes.
local RING, SPREAD_RING = 7, 15
local NO_BINS = ';'
local INFINITE = math.huge

local function doubles(count) return '<' .. string.rep('d', count) end

local function emptyCell()
  return {0, 0, 0, INFINITE, -INFINITE, -INFINITE, -INFINITE}
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

-- Adds many at once: all bins are passed over, but only once.
local function addManyBins(bins, list)
  local more, parts = {}, {}
  for i = 1, #list, 2 do more[list[i]] = list[i + 1] end
  parts[1] = string.gsub(bins, '([^;=]+)=(%d+)', function(bin, count)
    local added = more[bin]
    if not added then return nil end
    more[bin] = nil
    return bin .. '=' .. count + added
  end)
  for bin, count in pairs(more) do parts[#parts + 1] = bin .. '=' .. count .. ';' end
  return table.concat(parts)
end

-- From so many on one pass over all bins costs less than to look for each: measured with sketches of 10 to 200 bins.
local MANY_BINS = 12

-- Adds a list of bin, count, bin, count, in which no bin comes twice.
local function addBins(bins, list)
  if #list >= 2 * MANY_BINS then return addManyBins(bins, list) end
  for i = 1, #list, 2 do bins = addBin(bins, list[i], list[i + 1]) end
  return bins
end

-- Two texts of bins after each other; a bin may be in both.
local function bothBins(bins, more) return bins .. string.sub(more, #NO_BINS + 1) end

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

-- Of the text of a ring of shape 2, the bins of the newest bucket and those of the older ones.
local function binsOf(text)
  local from = 8 * SPREAD_RING + 5
  local to = from + struct.unpack('<I4', text, from - 4)
  return string.sub(text, from, to - 1), string.sub(text, to)
end

-- What lies in the buckets of a ring in the window that ends with bucket now: cell and bins. The ring begins at a place
-- of a list; beside it the name of its other buckets and, in shape 2, the bins of its newest.
local function gather(list, at, shape, key, newestBins, now)
  local head = list[at + HEAD]
  local cell, bins = emptyCell(), {}
  if head <= now and head > now - BUCKETS and list[at + NEWEST] > 0 then
    merge(cell, {unpack(list, at + NEWEST, at + NEWEST + 6)}, shape)
    bins[1] = newestBins
  end
  local flat, fields = redis.call('HGETALL', key), {}
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
`;
