import { CELLS } from './cells.lua.ts';

/**
 * Batches of one agent, in order, each counted once. Keys: inbox of each message, series, cooldowns, sets of seen ids.
 * Arguments: JSON `[inbox ttl, seen ttl, messages, series, number of cooldowns]`, then the names of each message's
 * question. A message is `[seen, cooldowns]`: set, event, id, set, event, id, ..., and which cooldowns it asks for. A
 * series is `[is ring, ttl, shape, values per increment, parts]`, and a part is what one message brings:
 * `[message, place in its answer, bucket of now, increments, sums]`. An increment is event, bucket, high, low and,
 * above shape 0, time, value, bin; a sum of what cannot have been counted before is `[bucket, count, high, low]` and,
 * above shape 0, min, max, time and value of the newest, bins. Answers per message `{answer}`, or `{names and answer
 * kept, 1}` where it was counted before. The answer is JSON `[totals, duplicates, cooldown holders]`.
 */
export const ADVANCE = `${CELLS}
local request = cjson.decode(ARGV[1])
local inboxTtl, seenTtl, messages, series, cooldownCount = request[1], request[2], request[3], request[4], request[5]
local cooldownOffset = #messages + #series
local seenOffset = cooldownOffset + cooldownCount

local kept = redis.call('MGET', unpack(KEYS, 1, #messages))

local repeated, duplicates, totals = {}, {}, {}
for m, message in ipairs(messages) do
  repeated[m], duplicates[m], totals[m] = {}, {}, {}
  local seen = message[1]
  if not kept[m] then
    for i = 1, #seen, 3 do
      local event = seen[i + 1]
      if redis.call('SADD', KEYS[seenOffset + seen[i]], seen[i + 2]) == 0 and not repeated[m][event] then
        repeated[m][event] = true
        table.insert(duplicates[m], number(event))
      end
    end
  end
end
for i = seenOffset + 1, #KEYS do redis.call('PEXPIRE', KEYS[i], seenTtl) end

local function countInto(cell, increments, i, shape)
  addSum(cell, 1, increments[i + 2], increments[i + 3])
  if shape == 0 then return end
  local value = increments[i + 5]
  addSpread(cell, value, value, increments[i + 4], value)
  if shape == 2 then addBins(cell, {[increments[i + 6]] = 1}) end
end

local function sumInto(cell, sum, shape)
  addSum(cell, sum[2], sum[3], sum[4])
  if shape == 0 then return end
  addSpread(cell, sum[5], sum[6], sum[7], sum[8])
  if shape == 2 then addBins(cell, sum[9]) end
end

local function advancePlain(key, spec)
  local ttl, shape, stride, parts = spec[2], spec[3], spec[4], spec[5]
  local cell
  for _, part in ipairs(parts) do
    local message, increments, sums = part[1], part[4], part[5]
    if not kept[message] then
      if not cell then
        local stored = redis.call('HMGET', key, 'sum', 'b')
        cell = unpackCell(stored[1], stored[2], shape) or emptyCell()
      end
      totals[message][part[2]] = encode(cell, shape)
      for i = 1, #increments, stride do
        if not repeated[message][increments[i]] then countInto(cell, increments, i, shape) end
      end
      for _, sum in ipairs(sums) do sumInto(cell, sum, shape) end
    end
  end
  if not cell or cell[1] == 0 then return end
  redis.call('HSET', key, 'sum', pack(cell, shape))
  if shape == 2 then redis.call('HSET', key, 'b', cmsgpack.pack(cell[8])) end
  redis.call('PEXPIRE', key, ttl)
end

-- Lets go of the buckets that leave the window when its newest bucket becomes now.
local function forward(key, head, now, running, shape)
  if now - head >= BUCKETS then
    redis.call('DEL', key)
    return {0, 0, 0}
  end
  local slots, bins = {}, {}
  for epoch = head + 1, now do
    slots[#slots + 1] = epoch % BUCKETS
    bins[#bins + 1] = 'b' .. epoch % BUCKETS
  end
  for _, text in ipairs(redis.call('HMGET', key, unpack(slots))) do
    if text then takeSum(running, struct.unpack('<ddd', text)) end
  end
  redis.call('HDEL', key, unpack(slots))
  if shape > 0 then redis.call('HDEL', key, 'w', 'wb', unpack(bins)) end
  return running
end

-- What is stored of the slots, text and bins by slot; known ones are not asked for.
local function readSlots(key, order, known, shape)
  local slots = {}
  for _, epoch in ipairs(order) do
    local slot = epoch % BUCKETS
    if not known[slot] then slots[#slots + 1] = slot end
  end
  if #slots == 0 then return end
  local cells, bins = redis.call('HMGET', key, unpack(slots)), {}
  if shape == 2 then
    for i, slot in ipairs(slots) do bins[i] = 'b' .. slot end
    bins = redis.call('HMGET', key, unpack(bins))
  end
  for i, slot in ipairs(slots) do known[slot] = {cells[i], bins[i]} end
end

local function advanceRing(key, spec)
  local ttl, shape, stride, parts = spec[2], spec[3], spec[4], spec[5]
  -- \`running\` is the sum of the window that ends with the head. \`window\` is all of it, where the shape keeps more: added
  -- up from the buckets when the head has moved, and kept with the ring until it moves again.
  local head, running, window
  local moved, known, touched, order = false, {}, {}, {}

  local function store()
    local fields = {'head', string.format('%.0f', head), 'sum', pack(running, 0)}
    readSlots(key, order, known, shape)
    for _, epoch in ipairs(order) do
      local slot, cell = epoch % BUCKETS, touched[epoch]
      local stored = unpackCell(known[slot][1], known[slot][2], shape)
      if stored then merge(cell, stored, shape) end
      fields[#fields + 1] = slot
      fields[#fields + 1] = pack(cell, shape)
      if shape == 2 then
        fields[#fields + 1] = 'b' .. slot
        fields[#fields + 1] = cmsgpack.pack(cell[8])
      end
    end
    if window then
      fields[#fields + 1] = 'w'
      fields[#fields + 1] = pack(window, shape)
      if shape == 2 then
        fields[#fields + 1] = 'wb'
        fields[#fields + 1] = cmsgpack.pack(window[8])
      end
    end
    redis.call('HSET', key, unpack(fields))
    known, touched, order = {}, {}, {}
  end

  local function load(now)
    local slot = now % BUCKETS
    local wanted = {'head', 'sum', slot}
    if shape > 0 then wanted[4] = 'w' end
    if shape == 2 then wanted[5], wanted[6] = 'wb', 'b' .. slot end
    local stored = redis.call('HMGET', key, unpack(wanted))
    head, running, moved = tonumber(stored[1] or now), unpackCell(stored[2], nil, 0) or {0, 0, 0}, not stored[1]
    known[slot] = {stored[3], stored[6]}
    if shape > 0 then window = unpackCell(stored[4], stored[5], shape) end
    if window and window[1] ~= running[1] then window = nil end
  end

  local function moveTo(now)
    if not head then load(now) end
    if now <= head then return end
    if #order > 0 then store() end
    running = forward(key, head, now, running, shape)
    head, window, moved = now, nil, true
    -- Nothing has been put into the newest bucket yet.
    known = {[now % BUCKETS] = {false, false}}
  end

  local function before(now)
    if head ~= now then
      if #order > 0 then store() end
      return gather(key, head, now, shape)
    end
    if shape == 0 then return running end
    if not window then
      if #order > 0 then store() end
      window = gather(key, head, now, shape)
    end
    return window
  end

  local function bucketOf(epoch)
    local cell = touched[epoch]
    if not cell then
      cell = emptyCell()
      touched[epoch], order[#order + 1] = cell, epoch
    end
    return cell
  end

  for _, part in ipairs(parts) do
    local message, now, increments, sums = part[1], part[3], part[4], part[5]
    if not kept[message] then
      moveTo(now)
      totals[message][part[2]] = encode(before(now), shape)
      for i = 1, #increments, stride do
        local epoch = increments[i + 1]
        if epoch > head - BUCKETS and not repeated[message][increments[i]] then
          countInto(bucketOf(epoch), increments, i, shape)
          addSum(running, 1, increments[i + 2], increments[i + 3])
          if window then countInto(window, increments, i, shape) end
        end
      end
      for _, sum in ipairs(sums) do
        if sum[1] > head - BUCKETS then
          sumInto(bucketOf(sum[1]), sum, shape)
          addSum(running, sum[2], sum[3], sum[4])
          if window then sumInto(window, sum, shape) end
        end
      end
    end
  end
  if not head then return end
  store()
  -- A ring is kept an hour longer than its window, so it need not be told at every write that it still lives.
  if moved then redis.call('PEXPIRE', key, ttl) end
end

for i, spec in ipairs(series) do
  (spec[1] == 1 and advanceRing or advancePlain)(KEYS[#messages + i], spec)
end

local holders = {}
if cooldownCount > 0 then holders = redis.call('MGET', unpack(KEYS, cooldownOffset + 1, seenOffset)) end

local answers = {}
for m, message in ipairs(messages) do
  if kept[m] then
    answers[m] = {kept[m], 1}
  else
    local cooling = {}
    for i, position in ipairs(message[2]) do
      local holder = holders[position]
      cooling[i] = holder and cjson.encode(holder) or 'null'
    end
    local answer = '[[' .. table.concat(totals[m], ',') .. '],[' .. table.concat(duplicates[m], ',') .. '],['
      .. table.concat(cooling, ',') .. ']]'
    redis.call('SET', KEYS[m], ARGV[1 + m] .. '\\n' .. answer, 'PX', inboxTtl)
    answers[m] = {answer}
  end
end
return answers
`;
