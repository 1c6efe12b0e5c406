-- Reads totals of one agent without counting.
--
-- KEYS: the agent's rings, then totals. ARGV: JSON, per series `name, shape, current bucket` or, for a total, `index of
-- the key, shape, null`. Returns the cell of each series, empty if there is none.
--- @include "cells"
local asked, answers = cjson.decode(ARGV[1]), {}

local function cellOf(cell, bins, shape)
  local text = packCell(cell, shape)
  if shape == 2 then return text .. sized(greatestBins(bins, cell[1], 0)) end
  return text
end

-- Bins of the newest bucket and the window, including pending values.
local function settledBins(key, name)
  local newestField, windowField = binFields(name)
  local _, pendingField = quickFields(name)
  local texts = redis.call('HMGET', key, newestField, windowField, pendingField)
  local pending = listOf(texts[3])
  return {addBins(texts[1], pending), addBins(texts[2], pending)}
end

-- Content of the window that ends with bucket `now`.
local function totalsAt(name, shape, now)
  local text = redis.call('HGET', KEYS[1], name)
  if not text then return '' end
  local ring = {struct.unpack(doubles(shape == 0 and RING or SPREAD_RING), text)}
  local newest, window
  if shape == 2 then newest, window = unpack(settledBins(KEYS[1], name)) end
  if ring[1 + HEAD] ~= now then
    local cell, bins = gather(ring, 1, shape, KEYS[1] .. ':' .. name, newest, now)
    return cellOf(cell, bins, shape)
  end
  local from = 1 + WINDOW
  local cell = {ring[from], ring[from + 1], ring[from + 2], unpack(ring, 1 + WINDOW_SPREAD, 4 + WINDOW_SPREAD)}
  return cellOf(cell, window, shape)
end

for i = 1, #asked, 3 do
  local name, shape, now = asked[i], asked[i + 1], asked[i + 2]
  if now == cjson.null then
    local text = redis.call('GET', KEYS[name])
    if text and shape == 2 then text = cellOf(unpackCell(text, shape), string.sub(text, 57), shape) end
    answers[#answers + 1] = text or ''
  else
    answers[#answers + 1] = totalsAt(name, shape, now)
  end
end
return answers
