-- Lua shared by the scripts that count messages: the rings of an agent. A call reads the rings it needs once, unpacks
-- them into one list and writes them once. A set describes which ones they are (`names`, `shapes`, `buckets`, `ttls` and
-- offsets); many agents share a set.

-- Rings that are read, unpacked and written at once, limited by the number of values of a call from Lua.
local RINGS_AT_ONCE = 250

-- A ring that does not exist yet; its newest bucket is before all others.
local NEW_RING = struct.pack(doubles(RING), -1, 0, 0, 0, 0, 0, 0)
local NEW_SPREAD_RING = NEW_RING .. struct.pack(doubles(SPREAD_RING - RING),
  INFINITE, -INFINITE, -INFINITE, -INFINITE, INFINITE, -INFINITE, -INFINITE, -INFINITE)

local function ringSet()
  return {names = {}, shapes = {}, buckets = {}, ttls = {}, begins = {}, formats = {}, fields = {}, quick = {}, length = 0}
end

local function addRing(set, name, shape, bucket, ttl)
  local place = #set.names + 1
  set.names[place], set.shapes[place], set.buckets[place], set.ttls[place] = name, shape, bucket, ttl
  if shape == 2 then set.quick[place] = {quickFields(name)} end
  set.begins[place] = set.length + 1
  set.length = set.length + (shape == 0 and RING or SPREAD_RING)
end

-- Last index in the list of the ring at `place`.
local function endOf(set, place)
  return set.begins[place + 1] and set.begins[place + 1] - 1 or set.length
end

-- Format of the list from one ring to another.
local function formatOf(set, from, to)
  local format = set.formats[from]
  if not format then
    format = doubles(endOf(set, to) - set.begins[from] + 1)
    set.formats[from] = format
  end
  return format
end

-- Fields of the rings from one place to another, followed by their quick fields.
local function fieldsOf(set, from, to)
  local fields = set.fields[from]
  if fields then return fields end
  fields = {unpack(set.names, from, to)}
  for place = from, to do
    local quick = set.quick[place]
    if quick then fields[#fields + 1], fields[#fields + 2] = quick[1], quick[2] end
  end
  set.fields[from] = fields
  return fields
end

-- Reads the bins of a ring and adds pending values. For the rest of the call, values are added directly.
local function open(agent, place)
  if agent.windowBins[place] then return end
  local texts = redis.call('HMGET', agent.key, binFields(agent.set.names[place]))
  local pending = listOf(agent.pending[place])
  agent.newestBins[place], agent.windowBins[place] = addBins(texts[1], pending), addBins(texts[2], pending)
  agent.pending[place] = NO_BINS
end

local function loadSome(agent, from, to)
  local set, list = agent.set, agent.list
  local count = to - from + 1
  local texts = redis.call('HMGET', agent.key, unpack(fieldsOf(set, from, to)))
  local extra = count
  for i = 1, count do
    local place = from + i - 1
    local shape = set.shapes[place]
    if shape == 2 then
      agent.greatest[place], agent.pending[place] = texts[extra + 1], texts[extra + 2]
      extra = extra + 2
      if not texts[i] then
        agent.newestBins[place], agent.windowBins[place], agent.pending[place] = NO_BINS, NO_BINS, NO_BINS
      end
    end
    texts[i] = texts[i] or (shape == 0 and NEW_RING or NEW_SPREAD_RING)
  end
  local values = {struct.unpack(formatOf(set, from, to), table.concat(texts, '', 1, count))}
  if from == 1 then
    agent.list = values
    return
  end
  local before = set.begins[from] - 1
  for i = 1, #values - 1 do list[before + i] = values[i] end
end

local function load(agent)
  agent.list, agent.changed, agent.greatest, agent.pending = {}, {}, {}, {}
  agent.newestBins, agent.windowBins, agent.batched, agent.raised = {}, {}, {}, {}
  local count = #agent.set.names
  for from = 1, count, RINGS_AT_ONCE do loadSome(agent, from, math.min(from + RINGS_AT_ONCE - 1, count)) end
end

-- Number of values of a ring that are not in its bins yet.
local function pendingOf(agent, place) return #agent.pending[place] / NUMBER_BYTES end

-- Number of values for which the stored largest bins suffice, based on the window without pending values.
local function reachOfGreatest(agent, place)
  return reachOf(agent.list[agent.set.begins[place] + WINDOW] - pendingOf(agent, place))
end

-- The largest bins of a window of `total` values, at least those that an answer needs when `coming` more are expected.
-- Opens the bins if these values cannot become pending.
local function answerBins(agent, place, total, coming)
  local greatest = agent.greatest[place]
  if not agent.windowBins[place] then
    local sufficient = pendingOf(agent, place) + coming <= reachOfGreatest(agent, place)
    if greatest ~= NO_BINS and sufficient then return greatest end
    open(agent, place)
    agent.batched[place] = coming > MAX_REACH
  end
  return greatestBins(agent.windowBins[place], total, coming)
end

local function bucketsKey(agent, place) return agent.key .. ':' .. agent.set.names[place] end

-- Moves the newest bucket to the other buckets.
local function closeNewest(agent, place, at, shape, key)
  local list = agent.list
  if list[at + NEWEST] == 0 then return end
  local slot = list[at + HEAD] % BUCKETS
  redis.call('HSET', key, slot, packCell({unpack(list, at + NEWEST, at + NEWEST + 6)}, shape))
  if shape == 2 then redis.call('HSET', key, 'b' .. slot, agent.newestBins[place]) end
  redis.call('PEXPIRE', key, agent.set.ttls[place])
end

local function letBinsGo(agent, place, key, field)
  local bins = redis.call('HGET', key, field)
  if not bins then return end
  agent.windowBins[place] = takeBins(agent.windowBins[place], bins)
  redis.call('HDEL', key, field)
end

-- Subtracts the buckets that leave the window when `now` becomes its newest bucket.
local function letGo(agent, place, at, shape, key, now)
  local list, slots, gone = agent.list, {}, {}
  for epoch = list[at + HEAD] + 1, now do slots[#slots + 1] = epoch % BUCKETS end
  for i, text in ipairs(redis.call('HMGET', key, unpack(slots))) do
    if text then
      minus(list, at + WINDOW, struct.unpack(SUM, text))
      gone[#gone + 1] = slots[i]
      if shape == 2 then letBinsGo(agent, place, key, 'b' .. slots[i]) end
    end
  end
  if #gone > 0 then redis.call('HDEL', key, unpack(gone)) end
end

local function emptyNewest(agent, place, at, shape)
  local list = agent.list
  list[at + NEWEST], list[at + NEWEST + 1], list[at + NEWEST + 2] = 0, 0, 0
  if shape == 0 then return end
  local spread = at + NEWEST_SPREAD
  list[spread], list[spread + 1], list[spread + 2], list[spread + 3] = INFINITE, -INFINITE, -INFINITE, -INFINITE
  if shape == 2 then agent.newestBins[place] = NO_BINS end
end

-- Makes a later bucket the newest of a ring.
local function moveTo(agent, place, at, now)
  local list, shape = agent.list, agent.set.shapes[place]
  local head = list[at + HEAD]
  agent.changed[place], agent.moved = true, true
  if head < 0 then
    list[at + HEAD] = now
    return
  end
  if shape == 2 then open(agent, place) end
  local key = bucketsKey(agent, place)
  if now - head >= BUCKETS then
    redis.call('DEL', key)
    list[at + WINDOW], list[at + WINDOW + 1], list[at + WINDOW + 2] = 0, 0, 0
    if shape == 2 then agent.windowBins[place] = NO_BINS end
  else
    letGo(agent, place, at, shape, key, now)
    closeNewest(agent, place, at, shape, key)
  end
  emptyNewest(agent, place, at, shape)
  list[at + HEAD] = now
  if shape == 0 then return end
  -- Unlike counts, min and max cannot be subtracted.
  local cell = gather(list, at, 1, key, nil, now)
  local spread = at + WINDOW_SPREAD
  list[spread], list[spread + 1], list[spread + 2], list[spread + 3] = cell[4], cell[5], cell[6], cell[7]
end

local function putLate(agent, place, shape, epoch, count, high, low, min, max, time, value, bins)
  local slot, key = epoch % BUCKETS, bucketsKey(agent, place)
  local text = redis.call('HGET', key, slot)
  local cell = text and unpackCell(text, shape) or emptyCell()
  plus(cell, 1, count, high, low)
  if shape > 0 then widen(cell, 4, min, max, time, value) end
  redis.call('HSET', key, slot, packCell(cell, shape))
  if shape == 2 then
    local kept = text and redis.call('HGET', key, 'b' .. slot) or NO_BINS
    redis.call('HSET', key, 'b' .. slot, addBins(kept, bins))
  end
  redis.call('PEXPIRE', key, agent.set.ttls[place])
end

-- Adds values to the bins of the newest bucket and the window, or to the pending values.
local function putBins(agent, place, values)
  if agent.windowBins[place] then
    local list = listOf(values)
    agent.newestBins[place] = addBins(agent.newestBins[place], list)
    agent.windowBins[place] = addBins(agent.windowBins[place], list)
    return
  end
  local greatest = agent.greatest[place]
  local list = listDownTo(values, unpackFrom(BIN_NUMBER, greatest, #greatest - BIN_BYTES + 1))
  if #list > 0 then agent.greatest[place], agent.raised[place] = addBins(greatest, list), true end
  agent.pending[place] = agent.pending[place] .. values
end

local function putIntoRing(agent, place, epoch, count, high, low, min, max, time, value, values)
  local list, at, shape = agent.list, agent.set.begins[place], agent.set.shapes[place]
  local head = list[at + HEAD]
  if epoch <= head - BUCKETS then return end
  agent.changed[place] = true
  plus(list, at + WINDOW, count, high, low)
  if shape > 0 then widen(list, at + WINDOW_SPREAD, min, max, time, value) end
  if epoch ~= head then
    local bins
    if shape == 2 then
      open(agent, place)
      bins = listOf(values)
      agent.windowBins[place] = addBins(agent.windowBins[place], bins)
    end
    return putLate(agent, place, shape, epoch, count, high, low, min, max, time, value, bins)
  end
  plus(list, at + NEWEST, count, high, low)
  if shape > 0 then widen(list, at + NEWEST_SPREAD, min, max, time, value) end
  if shape == 2 then putBins(agent, place, values) end
end

-- Largest bins to store until the bins are opened again, enough for all values that may become pending. None if the
-- next message opens the bins anyway or would need many of them.
local function greatestToKeep(agent, place)
  local total = agent.list[agent.set.begins[place] + WINDOW]
  local reach = reachOf(total)
  if agent.batched[place] or reach == 0 then return NO_BINS end
  return greatestBins(agent.windowBins[place], total, reach)
end

-- Appends the fields of a ring's changed bins to a list. Returns the new length of the list.
local function addBinFields(agent, place, fields, filled)
  if 2 * pendingOf(agent, place) > reachOfGreatest(agent, place) then open(agent, place) end
  local window, quick = agent.windowBins[place], agent.set.quick[place]
  fields[filled + 1], fields[filled + 2] = quick[2], agent.pending[place]
  if not window and not agent.raised[place] then return filled + 2 end
  fields[filled + 3], fields[filled + 4] = quick[1], window and greatestToKeep(agent, place) or agent.greatest[place]
  if not window then return filled + 4 end
  fields[filled + 5], fields[filled + 7] = binFields(agent.set.names[place])
  fields[filled + 6], fields[filled + 8] = agent.newestBins[place], window
  return filled + 8
end

local function saveSome(agent, from, to)
  local set, changed = agent.set, agent.changed
  local begin, fields = set.begins[from], {}
  local text = struct.pack(formatOf(set, from, to), unpack(agent.list, begin, endOf(set, to)))
  local filled = 0
  for place = from, to do
    if changed[place] then
      local at = 8 * (set.begins[place] - begin)
      local shape = set.shapes[place]
      local ring = string.sub(text, at + 1, at + 8 * (shape == 0 and RING or SPREAD_RING))
      fields[filled + 1], fields[filled + 2] = set.names[place], ring
      filled = filled + 2
      if shape == 2 then filled = addBinFields(agent, place, fields, filled) end
    end
  end
  if filled > 0 then redis.call('HSET', agent.key, unpack(fields)) end
end

local function save(agent, ttl)
  if not agent.list then return end
  local count = #agent.set.names
  for from = 1, count, RINGS_AT_ONCE do saveSome(agent, from, math.min(from + RINGS_AT_ONCE - 1, count)) end
  -- Longer than any window, so the ttl is not renewed with every write.
  if agent.moved then redis.call('PEXPIRE', agent.key, ttl) end
end
