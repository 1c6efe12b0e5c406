import { CELLS } from './cells.lua.ts';

/**
 * Totals of one agent without counting anything. Keys: the agent's rings, then plain totals. Argument: JSON, per series
 * `name, shape, bucket of now` or, of a plain total, `which of the keys, shape, null`. Answers per series its cell, empty
 * where nothing was seen.
 */
export const READ = `${CELLS}
local asked, answers = cjson.decode(ARGV[1]), {}
for i = 1, #asked, 3 do
  local name, shape, now = asked[i], asked[i + 1], asked[i + 2]
  if now == cjson.null then
    local text = redis.call('GET', KEYS[name])
    if text and shape == 2 then text = string.sub(text, 1, 56) .. sized(string.sub(text, 57)) end
    answers[#answers + 1] = text or ''
  else
    local text = redis.call('HGET', KEYS[1], name)
    answers[#answers + 1] = text and totalsAt(ringOf(text, KEYS[1] .. ':' .. name, shape), now) or ''
  end
end
return answers
`;
