/** A part of a model's answer that may be the requested JSON. */
export interface JsonCandidate {
  readonly text: string;
  readonly from: 'whole' | 'fence' | 'inline';
}

const FENCE = '```';
const MAX_CANDIDATES = 20;

/**
 * Candidates for JSON in a model's answer, most likely first: the whole text, fenced blocks (those marked `json`
 * first), and the first object or array in running text. Reads the text once per kind, so the cost is linear even for
 * hostile text.
 */
export function jsonCandidates(text: string): readonly JsonCandidate[] {
  const whole = text.trim();
  const fences = fencedBlocks(text);
  const found: JsonCandidate[] = [];
  if (whole !== '' && !whole.startsWith(FENCE)) found.push({ text: whole, from: 'whole' });
  for (const block of fences) if (block.json) found.push({ text: block.text, from: 'fence' });
  for (const block of fences) if (!block.json) found.push({ text: block.text, from: 'fence' });
  const inline = firstStructure(whole);
  if (inline !== null && inline !== whole) found.push({ text: inline, from: 'inline' });
  return found.slice(0, MAX_CANDIDATES);
}

interface Block {
  readonly text: string;
  readonly json: boolean;
}

/**
 * Blocks between lines that start with three backticks. A fence inside a JSON string does not end the block: JSON
 * strings contain no line breaks, so its line does not start with it. An unclosed last block counts, because the answer
 * may have been truncated.
 */
function fencedBlocks(text: string): Block[] {
  const blocks: Block[] = [];
  let open: { language: string; lines: string[] } | null = null;
  for (const line of text.split(/\r\n|\n|\r/)) {
    const mark = line.trimStart();
    if (open === null) {
      const inline = oneLineBlock(mark);
      if (inline !== null) blocks.push(inline);
      else if (mark.startsWith(FENCE)) open = { language: mark.slice(FENCE.length).trim().toLowerCase(), lines: [] };
    } else if (mark.startsWith(FENCE)) {
      blocks.push(blockOf(open));
      open = null;
    } else open.lines.push(line);
  }
  if (open !== null) blocks.push(blockOf(open));
  return blocks.filter((block) => block.text !== '');
}

/** A fence that opens and closes on one line. */
function oneLineBlock(line: string): Block | null {
  if (!line.startsWith(FENCE)) return null;
  const end = line.indexOf(FENCE, FENCE.length);
  if (end === -1) return null;
  const inside = line.slice(FENCE.length, end);
  const language = /^[a-z0-9]*/i.exec(inside)?.[0] ?? '';
  return { text: inside.slice(language.length).trim(), json: language.toLowerCase().startsWith('json') };
}

function blockOf({ language, lines }: { language: string; lines: string[] }): Block {
  return { text: lines.join('\n').trim(), json: language.startsWith('json') };
}

/** From the first bracket to its closing bracket, reading strings as JSON does; to the end if it is not closed. */
function firstStructure(text: string): string | null {
  const start = text.search(/[[{]/);
  if (start === -1) return null;
  let depth = 0;
  let quoted = false;
  for (let index = start; index < text.length; index++) {
    const unit = text[index];
    if (quoted) {
      if (unit === '\\') index++;
      else if (unit === '"') quoted = false;
    } else if (unit === '"') quoted = true;
    else if (unit === '{' || unit === '[') depth++;
    else if ((unit === '}' || unit === ']') && --depth === 0) return text.slice(start, index + 1);
  }
  return text.slice(start);
}
