import { CELLS } from './cells.lua.ts';

/**
 * Messages of agents of one tenant, in order, each counted once. A message here is what one message holds of one agent.
 *
 * KEYS: inbox of each message, plain totals, then of each agent its rings and its cooldowns, then sets of seen ids.
 * ARGV: the work, then the names of each message's question. The work is one flat JSON list, because nested ones cost as
 * much as all else: number of messages, of totals, of agents, inbox ttl, seen ttl, ttl of an agent's rings; per total
 * `shape, ttl`; per agent number of its rings and per ring `name, shape, ttl`; per message:
 *
 * - `agent, repeatables`, and per repeatable event `set of seen ids, event, id`
 * - number of series, and per series `place, bucket of now, increments, sums`: place is that of the agent's ring, or below
 *   zero that of the total; an increment is `event, bucket, high, low` and, above shape 0, `time, value`, in shape 2 `bin`;
 *   a sum of what cannot have been counted before is `bucket, count, high, low`, above shape 0
 *   `least, greatest, newest time, newest value`, in shape 2 number of bins and per bin `bin, count`
 *
 * Answers per message `0` and its answer, or `1`, names and answer kept, where it was counted before. An answer is, in
 * integers of 4 bytes: number of duplicates, each; number of cooldowns held, per cooldown place in the question, length,
 * holder; then the cells of its series.
 */
export const ADVANCE = `${CELLS}
local work, at = cjson.decode(ARGV[1]), 6
local messageCount, totalCount, agentCount, inboxTtl, seenTtl, ringsTtl = unpack(work, 1, 6)
local agentOffset = messageCount + totalCount
local seenOffset = agentOffset + 2 * agentCount
-- Of as many arguments as a call from Lua takes.
local SLICE = 4000

local stored = {}
for from = 1, agentOffset, SLICE do
  for i, text in ipairs(redis.call('MGET', unpack(KEYS, from, math.min(from + SLICE - 1, agentOffset)))) do
    stored[from + i - 1] = text
  end
end

local function readTotals()
  local totals = {}
  for i = 1, totalCount do
    totals[i] = {key = KEYS[messageCount + i], text = stored[messageCount + i], shape = work[at + 1], ttl = work[at + 2]}
    at = at + 2
  end
  return totals
end

local function readAgents()
  local agents = {}
  for a = 1, agentCount do
    local names, shapes, ttls = {}, {}, {}
    local count = work[at + 1]
    at = at + 1
    for r = 1, count do
      names[r], shapes[r], ttls[r] = work[at + 1], work[at + 2], work[at + 3]
      at = at + 3
    end
    agents[a] = {key = KEYS[agentOffset + 2 * a - 1], names = names, shapes = shapes, ttls = ttls, rings = {}}
  end
  return agents
end

-- What is in the agent's rings, by place.
local function textsOf(agent)
  local names = agent.names
  if #names <= SLICE then return #names > 0 and redis.call('HMGET', agent.key, unpack(names)) or {} end
  local texts = {}
  for from = 1, #names, SLICE do
    local to = math.min(from + SLICE - 1, #names)
    for i, text in ipairs(redis.call('HMGET', agent.key, unpack(names, from, to))) do texts[from + i - 1] = text end
  end
  return texts
end

local function newRing(key, shape, now)
  local ring = {now, 0, 0, 0, 0, 0, 0}
  if shape > 0 then
    for i = 8, 12, 4 do ring[i], ring[i + 1], ring[i + 2], ring[i + 3] = math.huge, -math.huge, -math.huge, -math.huge end
  end
  if shape == 2 then ring.bins, ring.window = NO_BINS, NO_BINS end
  ring.key, ring.shape, ring.changed, ring.moved = key, shape, true, true
  return ring
end

local function ringAt(agent, place, now)
  local ring = agent.rings[place]
  if ring then return ring end
  agent.texts = agent.texts or textsOf(agent)
  local text, shape, key = agent.texts[place], agent.shapes[place], agent.key .. ':' .. agent.names[place]
  ring = text and ringOf(text, key, shape) or newRing(key, shape, now)
  ring.ttl = agent.ttls[place]
  agent.rings[place] = ring
  return ring
end

local function emptyNewest(ring)
  ring[NEWEST], ring[NEWEST + 1], ring[NEWEST + 2] = 0, 0, 0
  if ring.shape == 0 then return end
  ring[8], ring[9], ring[10], ring[11] = math.huge, -math.huge, -math.huge, -math.huge
  if ring.shape == 2 then ring.bins = NO_BINS end
end

-- Puts the newest bucket beside the others.
local function closeNewest(ring)
  if ring[NEWEST] == 0 then return end
  local slot = ring[HEAD] % BUCKETS
  redis.call('HSET', ring.key, slot, packCell({unpack(ring, NEWEST, NEWEST + 6)}, ring.shape))
  if ring.shape == 2 then redis.call('HSET', ring.key, 'b' .. slot, ring.bins) end
  redis.call('PEXPIRE', ring.key, ring.ttl)
end

-- Takes away the buckets that leave the window when its newest bucket becomes now.
local function letGo(ring, now)
  local slots = {}
  for epoch = ring[HEAD] + 1, now do slots[#slots + 1] = epoch % BUCKETS end
  local gone = {}
  for i, text in ipairs(redis.call('HMGET', ring.key, unpack(slots))) do
    if text then
      minus(ring, WINDOW, struct.unpack(SUM, text))
      gone[#gone + 1] = slots[i]
      if ring.shape == 2 then gone[#gone + 1] = 'b' .. slots[i] end
    end
  end
  if #gone > 0 then redis.call('HDEL', ring.key, unpack(gone)) end
end

local function moveTo(ring, now)
  local head, shape = ring[HEAD], ring.shape
  if now <= head then return end
  if now - head >= BUCKETS then
    redis.call('DEL', ring.key)
    ring[WINDOW], ring[WINDOW + 1], ring[WINDOW + 2] = 0, 0, 0
  else
    letGo(ring, now)
    closeNewest(ring)
  end
  emptyNewest(ring)
  ring[HEAD], ring.changed, ring.moved = now, true, true
  if shape == 0 then return end
  local cell, bins = gather(ring, now)
  ring[12], ring[13], ring[14], ring[15] = cell[4], cell[5], cell[6], cell[7]
  ring.window = bins
end

local function putLate(ring, epoch, count, high, low, min, max, time, value, bins)
  local slot, shape = epoch % BUCKETS, ring.shape
  local text = redis.call('HGET', ring.key, slot)
  local cell = text and unpackCell(text, shape) or emptyCell()
  plus(cell, 1, count, high, low)
  if shape > 0 then widen(cell, 4, min, max, time, value) end
  redis.call('HSET', ring.key, slot, packCell(cell, shape))
  if shape == 2 then
    local kept = text and redis.call('HGET', ring.key, 'b' .. slot) or NO_BINS
    redis.call('HSET', ring.key, 'b' .. slot, addBins(kept, bins))
  end
  redis.call('PEXPIRE', ring.key, ring.ttl)
end

local function putIntoRing(ring, epoch, count, high, low, min, max, time, value, bins)
  local head, shape = ring[HEAD], ring.shape
  if epoch <= head - BUCKETS then return end
  ring.changed = true
  plus(ring, WINDOW, count, high, low)
  if shape > 0 then widen(ring, WINDOW_SPREAD, min, max, time, value) end
  if shape == 2 then ring.window = addBins(ring.window, bins) end
  if epoch ~= head then return putLate(ring, epoch, count, high, low, min, max, time, value, bins) end
  plus(ring, NEWEST, count, high, low)
  if shape > 0 then widen(ring, NEWEST_SPREAD, min, max, time, value) end
  if shape == 2 then ring.bins = addBins(ring.bins, bins) end
end

local function putIntoTotal(total, _, count, high, low, min, max, time, value, bins)
  total.changed = true
  plus(total.cell, 1, count, high, low)
  if total.shape > 0 then widen(total.cell, 4, min, max, time, value) end
  if total.shape == 2 then total.bins = addBins(total.bins, bins) end
end

local function load(total)
  if total.cell then return end
  total.cell = total.text and unpackCell(total.text, total.shape) or emptyCell()
  if total.shape == 2 then total.bins = total.text and string.sub(total.text, 57) or NO_BINS end
end

-- Reads the increments and sums of one series and has them put into its ring or total.
local function take(into, shape, put, repeated)
  local increments, sums = work[at + 1], work[at + 2]
  at = at + 2
  for _ = 1, increments do
    local event, epoch, high, low = work[at + 1], work[at + 2], work[at + 3], work[at + 4]
    local time, value, bins
    at = at + 4
    if shape > 0 then
      time, value = work[at + 1], work[at + 2]
      at = at + 2
    end
    if shape == 2 then
      bins = {work[at + 1], 1}
      at = at + 1
    end
    if into and not repeated[event] then put(into, epoch, 1, high, low, value, value, time, value, bins) end
  end
  for _ = 1, sums do
    local epoch, count, high, low = work[at + 1], work[at + 2], work[at + 3], work[at + 4]
    local min, max, time, value, bins
    at = at + 4
    if shape > 0 then
      min, max, time, value = work[at + 1], work[at + 2], work[at + 3], work[at + 4]
      at = at + 4
    end
    if shape == 2 then
      local count = work[at + 1]
      bins, at = {}, at + 1
      for _ = 1, count do
        bins[#bins + 1], bins[#bins + 2], at = work[at + 1], work[at + 2], at + 2
      end
    end
    if into then put(into, epoch, count, high, low, min, max, time, value, bins) end
  end
end

-- Which events of a message were counted before, in an earlier one, and their list as an answer.
local function findRepeated(counted)
  local count = work[at + 1]
  at = at + 1
  if count == 0 then return {}, struct.pack('<I4', 0) end
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

-- Who holds the cooldowns a question asks for, as an answer.
local function holdersOf(key, question)
  local asked = cjson.decode(question).cooldowns
  if #asked == 0 then return struct.pack('<I4', 0) end
  local list = {}
  for i, holder in ipairs(redis.call('HMGET', key, unpack(asked))) do
    if holder then list[#list + 1] = struct.pack('<I4I4', i - 1, #holder) .. holder end
  end
  return struct.pack('<I4', #list) .. table.concat(list)
end

local totals, agents = readTotals(), readAgents()
local cooling = {}
for a = 1, agentCount do cooling[a] = KEYS[agentOffset + 2 * a] end
-- Hardly ever does any agent have one.
local anyCooling = agentCount > 0 and redis.call('EXISTS', unpack(cooling)) > 0
local NONE = struct.pack('<I4', 0)

-- Counts the next message of the work. Answers its answer; nil where it was counted before.
local function advance(counted, question)
  local a = work[at + 1]
  local agent = agents[a]
  at = at + 1
  local repeated, duplicates = findRepeated(counted)
  local count = work[at + 1]
  local cells = {}
  at = at + 1
  for i = 1, count do
    local place, now = work[at + 1], work[at + 2]
    at = at + 2
    if place > 0 then
      local ring
      if not counted then
        ring = ringAt(agent, place, now)
        moveTo(ring, now)
        cells[i] = totalsAt(ring, now)
      end
      take(ring, agent.shapes[place], putIntoRing, repeated)
    else
      local total = totals[-place]
      if not counted then
        load(total)
        cells[i] = answerOf(total.cell, total.bins, total.shape)
      end
      take(not counted and total, total.shape, putIntoTotal, repeated)
    end
  end
  if counted then return nil end
  return duplicates .. (anyCooling and holdersOf(cooling[a], question) or NONE) .. table.concat(cells)
end

local answers, inbox = {}, {}
for m = 1, messageCount do
  local question = ARGV[1 + m]
  local answer = advance(stored[m], question)
  answers[m] = answer and '0' .. answer or '1' .. stored[m]
  inbox[m] = answer and question .. '\\n' .. answer
end

for _, total in ipairs(totals) do
  if total.changed then
    local text = packCell(total.cell, total.shape)
    if total.shape == 2 then text = text .. total.bins end
    redis.call('SET', total.key, text, 'PX', total.ttl)
  end
end

local function packRing(ring)
  if ring.shape == 0 then return struct.pack(RING, unpack(ring, 1, 7)) end
  local text = struct.pack(SPREAD_RING, unpack(ring, 1, 15))
  if ring.shape == 1 then return text end
  return text .. sized(ring.bins) .. ring.window
end

for _, agent in ipairs(agents) do
  local fields, moved = {}, false
  for place, ring in pairs(agent.rings) do
    if ring.changed then
      fields[#fields + 1], fields[#fields + 2] = agent.names[place], packRing(ring)
      moved = moved or ring.moved
    end
  end
  for from = 1, #fields, SLICE do
    redis.call('HSET', agent.key, unpack(fields, from, math.min(from + SLICE - 1, #fields)))
  end
  -- Kept longer than any window, so it need not be told at every write that it still lives.
  if moved then redis.call('PEXPIRE', agent.key, ringsTtl) end
end

for m = 1, messageCount do
  if inbox[m] then redis.call('SET', KEYS[m], inbox[m], 'PX', inboxTtl) end
end
return answers
`;
