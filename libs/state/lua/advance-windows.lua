-- Counts messages of agents of one tenant, in order, each once. A message here is the part of a message for one agent.
--
-- KEYS: inbox of each message, totals, then of each agent its rings and its cooldowns, then sets of seen ids. ARGV: the
-- work, then per message the series names of its question, then the lists of cooldown names, which many questions
-- share, all as JSON; then encoded values (cells.lua), each from largest to smallest. The work is one flat list,
-- because nested lists cost as much as everything else: number of messages, of totals, of ring sets, of agents, inbox
-- ttl, seen ttl, ttl of an agent's rings, number of lists of cooldowns; per total `shape, ttl`; per ring set its number
-- of rings, and per ring `name, shape, ms per bucket, ttl`; per agent its ring set; per message:
--
-- - `agent, now, list of cooldowns, retryable events`, and per retryable event `set of seen ids, event, id`
-- - number of series, and per series `place`, in shape 2 the number of new values, and `sums`, or `-increments, sums`.
--   `place` is the position of the agent's ring, or the negative position of a total. An increment is `event, age,
--   high, low` and, above shape 0, `time, value`, in shape 2 the bin number. A sum of events that cannot have been
--   counted before is `age, count, high, low`, above shape 0 `min, max, latest time, latest value`, in shape 2 the
--   index of its encoded values. `age` is the number of buckets before the current one.
--
-- Returns per message `0` and its answer or, if it was counted before, `1` and the stored names and answer. An answer
-- is, in 4-byte integers: number of duplicates, each; number of cooldowns held, and per cooldown its index in the
-- question, length, holder; then the cells of its series.
--- @include "cells"
--- @include "rings"
local work, at = cjson.decode(ARGV[1]), 8
local messageCount, totalCount, setCount, agentCount, inboxTtl, seenTtl, ringsTtl, cooldownLists = unpack(work, 1, 8)
local agentOffset = messageCount + totalCount
local seenOffset = agentOffset + 2 * agentCount
local valuesOffset = 1 + messageCount + cooldownLists
-- Maximum number of arguments of a call from Lua.
local SLICE = 4000
local NONE, NOTHING = struct.pack('<I4', 0), {}

local stored = {}
for from = 1, agentOffset, SLICE do
  local texts = redis.call('MGET', unpack(KEYS, from, math.min(from + SLICE - 1, agentOffset)))
  if from == 1 then
    stored = texts
  else
    for i = 1, #texts do stored[from + i - 1] = texts[i] end
  end
end

local totals = {}
for i = 1, totalCount do
  totals[i] = {text = stored[messageCount + i], shape = work[at + 1], ttl = work[at + 2]}
  at = at + 2
end

local sets = {}
for s = 1, setCount do
  local set, count = ringSet(), work[at + 1]
  at = at + 1
  for _ = 1, count do
    addRing(set, work[at + 1], work[at + 2], work[at + 3], work[at + 4])
    at = at + 4
  end
  sets[s] = set
end

local agents, cooling = {}, {}
for a = 1, agentCount do
  agents[a] = {key = KEYS[agentOffset + 2 * a - 1], set = sets[work[at + a]]}
  cooling[a] = KEYS[agentOffset + 2 * a]
end
at = at + agentCount
-- Rarely does an agent have one.
local anyCooling = agentCount > 0 and redis.call('EXISTS', unpack(cooling)) > 0

local function putIntoTotal(total, _, _, count, high, low, min, max, time, value, values)
  total.changed = true
  plus(total.cell, 1, count, high, low)
  if total.shape > 0 then widen(total.cell, 4, min, max, time, value) end
  if total.shape == 2 then total.bins = addBins(total.bins, listOf(values)) end
end

local function loadTotal(total)
  total.cell = total.text and unpackCell(total.text, total.shape) or emptyCell()
  if total.shape == 2 then total.bins = total.text and string.sub(total.text, 57) or NO_BINS end
end

-- Reads the increments and sums of one series and applies them to its ring or total.
local function take(into, place, shape, now, put, repeated)
  local increments, sums = 0, work[at + 1]
  at = at + 1
  if sums < 0 then
    increments, sums = -sums, work[at + 1]
    at = at + 1
  end
  for _ = 1, increments do
    local event, epoch, high, low = work[at + 1], now - work[at + 2], work[at + 3], work[at + 4]
    local time, value, values
    at = at + 4
    if shape > 0 then
      time, value = work[at + 1], work[at + 2]
      at = at + 2
    end
    if shape == 2 then
      values, at = struct.pack(BIN_NUMBER, work[at + 1]), at + 1
    end
    if into and not repeated[event] then put(into, place, epoch, 1, high, low, value, value, time, value, values) end
  end
  for _ = 1, sums do
    local epoch, count, high, low = now - work[at + 1], work[at + 2], work[at + 3], work[at + 4]
    local min, max, time, value, values
    at = at + 4
    if shape > 0 then
      min, max, time, value = work[at + 1], work[at + 2], work[at + 3], work[at + 4]
      at = at + 4
    end
    if shape == 2 then
      values, at = ARGV[valuesOffset + work[at + 1]], at + 1
    end
    if into then put(into, place, epoch, count, high, low, min, max, time, value, values) end
  end
end

-- Events that were counted in an earlier message, as a set and as an encoded list.
local function findRepeated(counted)
  local count = work[at + 1]
  at = at + 1
  if count == 0 then return NOTHING, NONE end
  local repeated, list = {}, {}
  for _ = 1, count do
    local set, event, id = KEYS[seenOffset + work[at + 1]], work[at + 2], work[at + 3]
    at = at + 3
    if not counted then
      if redis.call('SADD', set, id) == 0 and not repeated[event] then
        repeated[event], list[#list + 1] = true, struct.pack('<I4', event)
      end
      redis.call('PEXPIRE', set, seenTtl)
    end
  end
  return repeated, struct.pack('<I4', #list) .. table.concat(list)
end

-- Encoded holders of the cooldowns in a question.
local function holdersOf(key, names)
  local asked = cjson.decode(names)
  if #asked == 0 then return NONE end
  local list = {}
  for i, holder in ipairs(redis.call('HMGET', key, unpack(asked))) do
    if holder then list[#list + 1] = struct.pack('<I4I4', i - 1, #holder) .. holder end
  end
  return struct.pack('<I4', #list) .. table.concat(list)
end

-- Skips the series of a message that was counted before.
local function passOver(set, count)
  for _ = 1, count do
    local place = work[at + 1]
    local shape = place > 0 and set.shapes[place] or totals[-place].shape
    at = at + (shape == 2 and 2 or 1)
    take(nil, place, shape, 0)
  end
end

local formats = {}

-- Answers are collected as strings and, until the next string, as numbers.
local function packed(numbers, count)
  local format = formats[count] or doubles(count)
  formats[count] = format
  return struct.pack(format, unpack(numbers, 1, count))
end

-- Counts the series of a message. Returns what they contained before.
local function countSeries(agent, count, nowMs, repeated)
  local set, list = agent.set, agent.list
  local texts, numbers, filled = '', {}, 0
  for _ = 1, count do
    local place = work[at + 1]
    local cell, shape, bins, sumAt, spreadAt, coming
    at = at + 1
    if place > 0 then
      local begin, bucket = set.begins[place], set.buckets[place]
      local now = (nowMs - nowMs % bucket) / bucket
      local head = list[begin + HEAD]
      shape = set.shapes[place]
      if head < now then
        moveTo(agent, place, begin, now)
        head = now
      end
      if shape == 2 then coming, at = work[at + 1], at + 1 end
      if head == now then
        cell, sumAt, spreadAt = list, begin + WINDOW, begin + WINDOW_SPREAD
        if shape == 2 then bins = answerBins(agent, place, list[sumAt], coming) end
      else
        if shape == 2 then open(agent, place) end
        cell, bins = gather(list, begin, shape, bucketsKey(agent, place), agent.newestBins[place], now)
        sumAt, spreadAt = 1, 4
        if shape == 2 then bins = greatestBins(bins, cell[sumAt], coming) end
      end
      numbers[filled + 1], numbers[filled + 2], numbers[filled + 3] = cell[sumAt], cell[sumAt + 1], cell[sumAt + 2]
      filled = filled + 3
      if shape > 0 then
        numbers[filled + 1], numbers[filled + 2] = cell[spreadAt], cell[spreadAt + 1]
        numbers[filled + 3], numbers[filled + 4] = cell[spreadAt + 2], cell[spreadAt + 3]
        filled = filled + 4
      end
      take(agent, place, shape, now, putIntoRing, repeated)
    else
      local total = totals[-place]
      shape = total.shape
      if not total.cell then loadTotal(total) end
      cell = total.cell
      for i = 1, shape == 0 and 3 or 7 do numbers[filled + i] = cell[i] end
      filled = filled + (shape == 0 and 3 or 7)
      if shape == 2 then
        bins, at = greatestBins(total.bins, cell[1], work[at + 1]), at + 1
      end
      take(total, place, shape, 0, putIntoTotal, repeated)
    end
    if shape == 2 then
      texts, filled = texts .. packed(numbers, filled) .. sized(bins), 0
    elseif filled >= SLICE then
      texts, filled = texts .. packed(numbers, filled), 0
    end
  end
  return filled == 0 and texts or texts .. packed(numbers, filled)
end

-- Counts the next message. Returns the names of its cooldowns and, unless it was counted before, the three parts of its
-- answer. They are concatenated late, because strings cost by their length.
local function advance(counted)
  local a, nowMs, names = work[at + 1], work[at + 2], ARGV[1 + messageCount + work[at + 3]]
  local agent = agents[a]
  at = at + 3
  local repeated, duplicates = findRepeated(counted)
  local count = work[at + 1]
  at = at + 1
  if counted then
    passOver(agent.set, count)
    return names
  end
  if not agent.list then load(agent) end
  local cells = countSeries(agent, count, nowMs, repeated)
  return names, duplicates, anyCooling and holdersOf(cooling[a], names) or NONE, cells
end

local answers, inbox = {}, {}
for m = 1, messageCount do
  local names, duplicates, holders, cells = advance(stored[m])
  if cells then
    answers[m] = '0' .. duplicates .. holders .. cells
    inbox[m] = '{"series":' .. ARGV[1 + m] .. ',"cooldowns":' .. names .. '}\n' .. duplicates .. holders .. cells
  else
    answers[m] = '1' .. stored[m]
  end
end

for i = 1, totalCount do
  local total = totals[i]
  if total.changed then
    local text = packCell(total.cell, total.shape)
    if total.shape == 2 then text = text .. total.bins end
    redis.call('SET', KEYS[messageCount + i], text, 'PX', total.ttl)
  end
end

for a = 1, agentCount do save(agents[a], ringsTtl) end

for m = 1, messageCount do
  if inbox[m] then redis.call('SET', KEYS[m], inbox[m], 'PX', inboxTtl) end
end
return answers
