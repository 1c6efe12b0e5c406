/** One frame of a server-sent stream. */
interface Frame {
  readonly event: string;
  readonly id: string | undefined;
  readonly data: string;
}

/** Splits a text stream into frames and buffers an incomplete one. */
export class FrameReader {
  #rest = '';

  read(text: string): Frame[] {
    const blocks = (this.#rest + text).replaceAll('\r\n', '\n').split('\n\n');
    this.#rest = blocks.pop() ?? '';
    return blocks.flatMap(frameOf);
  }
}

function frameOf(block: string): Frame[] {
  let event = 'message';
  let id: string | undefined;
  const data: string[] = [];
  for (const line of block.split('\n')) {
    const colon = line.indexOf(':');
    if (colon <= 0) continue;
    const value = line.slice(colon + 1).replace(/^ /, '');
    if (line.startsWith('event:')) event = value;
    if (line.startsWith('id:')) id = value;
    if (line.startsWith('data:')) data.push(value);
  }
  return data.length === 0 ? [] : [{ event, id, data: data.join('\n') }];
}
