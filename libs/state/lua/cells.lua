-- Lua shared by the window scripts. Counts are kept in flat lists of doubles: a sum is three of them (count, high and low,
-- see exact-numbers.ts), a spread four (min, max, latest time, latest value). Shapes are 0 (sum), 1 (spread) and 2
-- (quantiles, with the bins beside the list). Bins are a string of eight bytes each, number and count, from largest to
-- smallest, so one bin can be found and increased without unpacking the others, and quantiles need only the beginning.
-- Values that are to be added to bins are a string as well, one bin number per value (bin-numbers.ts); usually it is
-- only appended to another.
--
-- A ring is `{newest bucket, sum of the window, sum of the newest bucket}` and, above shape 0, `{.., spread of the
-- newest bucket, spread of the window}`. That is all that most messages read and change, and it is one field of the
-- agent's hash. In shape 2, two more fields hold the bins of the newest bucket and of the window. Most messages need
-- neither: single values are collected in a third field, and answers come from a fourth (quickFields). The other
-- buckets are in a hash of their own, by epoch modulo 60, which is used when the newest bucket moves and by late
-- events. All rings of an agent are in one list, each known by its start, so that they are packed and unpacked at once.
-- LIMB is defined in exact-numbers.ts, BUCKETS in lifetimes.ts, MIN_QUANTILE in sketch.ts.
local LIMB, BUCKETS, MIN_QUANTILE = 1e15, 60, 0.95
-- Offsets of the parts of a ring.
local HEAD, WINDOW, NEWEST, NEWEST_SPREAD, WINDOW_SPREAD = 0, 1, 4, 7, 11
local SUM, CELL = '<ddd', '<ddddddd'
-- Number of doubles of a ring, for shape 0 and for the others.
local RING, SPREAD_RING = 7, 15
local BIN, BIN_FIELDS, BIN_BYTES, BIN_NUMBER = '<i3I5', 'i3I5', 8, '<i3'
local NO_BINS = ''
local INFINITE = math.huge
local unpackFrom, floor = struct.unpack, math.floor

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

-- Length in bytes of the bins that are larger than `bin`, at least `known`.
local function bytesBefore(bins, bin, known)
  local low, high = known / BIN_BYTES, #bins / BIN_BYTES
  while low < high do
    local middle = floor((low + high) / 2)
    if unpackFrom(BIN_NUMBER, bins, BIN_BYTES * middle + 1) > bin then low = middle + 1 else high = middle end
  end
  return BIN_BYTES * low
end

-- Adds few bins: finds each one and copies what is between.
local function addFewBins(bins, list)
  local parts, filled, copied = {}, 0, 0
  for i = 1, #list, 2 do
    local bin, count = list[i], list[i + 1]
    local at = bytesBefore(bins, bin, copied)
    parts[filled + 1] = string.sub(bins, copied + 1, at)
    copied = at
    if at < #bins then
      local found, counted = unpackFrom(BIN, bins, at + 1)
      if found == bin then count, copied = count + counted, at + BIN_BYTES end
    end
    parts[filled + 2] = count > 0 and struct.pack(BIN, bin, count) or ''
    filled = filled + 2
  end
  parts[filled + 1] = string.sub(bins, copied + 1)
  return table.concat(parts)
end

-- Adds many bins: unpacks and packs all of them once.
local function addManyBins(bins, list)
  local size = #bins / BIN_BYTES
  local old = {unpackFrom('<' .. string.rep(BIN_FIELDS, size), bins)}
  -- unpack appends the end position; here it becomes a bin below all others.
  old[#old] = -INFINITE
  local merged, filled, at = {}, 0, 1
  for i = 1, #list, 2 do
    local bin, count = list[i], list[i + 1]
    while old[at] > bin do
      merged[filled + 1], merged[filled + 2] = old[at], old[at + 1]
      filled, at = filled + 2, at + 2
    end
    if old[at] == bin then count, at = count + old[at + 1], at + 2 end
    if count > 0 then
      merged[filled + 1], merged[filled + 2] = bin, count
      filled = filled + 2
    end
  end
  local from = BIN_BYTES * (at - 1) / 2
  return struct.pack('<' .. string.rep(BIN_FIELDS, filled / 2), unpack(merged, 1, filled)) .. string.sub(bins, from + 1)
end

-- From this number on, unpacking costs less than a search per bin; and the number that fits into one call.
local MANY_BINS, MAX_UNPACKED = 24, 1500

-- Adds a list of bin, count, bin, count, largest first, without repeated bins. Counts may be negative.
local function addBins(bins, list)
  if #list == 0 then return bins end
  if #list >= 2 * MANY_BINS and #list / 2 + #bins / BIN_BYTES <= MAX_UNPACKED then return addManyBins(bins, list) end
  return addFewBins(bins, list)
end

-- Subtracts bins that were added.
local function takeBins(bins, gone)
  local list = {}
  for at = 1, #gone, BIN_BYTES do
    local bin, count = unpackFrom(BIN, gone, at)
    list[#list + 1], list[#list + 2] = bin, -count
  end
  return addBins(bins, list)
end

-- Merges several strings of bins.
local function joinBins(texts)
  local counts, list = {}, {}
  for _, text in ipairs(texts) do
    for at = 1, #text, BIN_BYTES do
      local bin, count = unpackFrom(BIN, text, at)
      if not counts[bin] then list[#list + 1] = bin end
      counts[bin] = (counts[bin] or 0) + count
    end
  end
  table.sort(list, function(a, b) return a > b end)
  for i, bin in ipairs(list) do list[i] = struct.pack(BIN, bin, counts[bin]) end
  return table.concat(list)
end

-- The first bins that greatestBins (sketch.ts) returns for `total` values when `coming` more are expected.
local function greatestBins(bins, total, coming)
  total = total + coming
  local missing, at = total - math.max(1, math.ceil(MIN_QUANTILE * total)) + 1, 0
  while missing > 0 and at < #bins do
    local _, count = unpackFrom(BIN, bins, at + 1)
    missing, at = missing - count, at + BIN_BYTES
  end
  return string.sub(bins, 1, at)
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

-- Bins in an answer: length, then content.
local function sized(text) return struct.pack('<I4', #text) .. text end

-- Fields of an agent's hash for the bins of a ring's newest bucket and of its window. Separate fields, because strings
-- cost Lua by their length and cutting them out of a larger one would too.
local function binFields(name) return name .. ':newest', name .. ':window' end

-- Fields that most messages need instead: the largest bins of the window, and values that are not yet in the bins of
-- the newest bucket and the window.
local function quickFields(name) return name .. ':greatest', name .. ':pending' end

-- Number of additional values for which the stored largest bins suffice, which is also the maximum number of pending
-- values. Half of it is kept free between calls. Zero for small windows, which would need most of their bins.
local MIN_REACH, MAX_REACH, NUMBER_BYTES = 64, 1024, 3
local function reachOf(total)
  if total < MIN_REACH then return 0 end
  return math.min(total, MAX_REACH)
end

-- Encoded values in any order as a list for addBins.
local function listOf(values)
  if values == NO_BINS then return {} end
  local counts, bins = {}, {}
  for from = 1, #values, NUMBER_BYTES * MAX_UNPACKED do
    local part = string.sub(values, from, from + NUMBER_BYTES * MAX_UNPACKED - 1)
    local numbers = {unpackFrom(string.rep(BIN_NUMBER, #part / NUMBER_BYTES), part)}
    -- unpack appends the end position.
    for i = 1, #numbers - 1 do
      local bin = numbers[i]
      local count = counts[bin]
      if not count then
        bins[#bins + 1], count = bin, 0
      end
      counts[bin] = count + 1
    end
  end
  table.sort(bins)
  local list, size = {}, #bins
  for i = 1, size do
    local bin = bins[size + 1 - i]
    list[2 * i - 1], list[2 * i] = bin, counts[bin]
  end
  return list
end

-- Encoded values, largest first, down to a bin, as a list for addBins.
local function listDownTo(values, least)
  local list, filled = {}, 0
  for at = 1, #values, NUMBER_BYTES do
    local bin = unpackFrom(BIN_NUMBER, values, at)
    if bin < least then break end
    if list[filled - 1] == bin then
      list[filled] = list[filled] + 1
    else
      list[filled + 1], list[filled + 2] = bin, 1
      filled = filled + 2
    end
  end
  return list
end

-- Merges the buckets of a ring in the window that ends with bucket `now`: cell and bins. `at` is the ring's start in
-- the list, `key` the hash of its other buckets, `newestBins` the bins of its newest bucket in shape 2.
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
