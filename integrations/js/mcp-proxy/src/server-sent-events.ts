import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';

/** An event of a stream: its fields other than data as lines, comments included. */
export interface ServerSentEvent {
  readonly fields: readonly string[];
  readonly data: string;
}

/** The events of a stream. Lines end with \n, \r or \r\n, as for every reader. Throws for one longer than `max`. */
export async function* eventsOf(stream: Readable, max: number): AsyncGenerator<ServerSentEvent> {
  let lines: string[] = [];
  let length = 0;
  for await (const line of linesOf(stream, max)) {
    length += line.length;
    if (length > max) throw new Error(`the server sent an event longer than ${max} characters`);
    if (line !== '') {
      lines.push(line);
      continue;
    }
    if (lines.length > 0) yield eventOf(lines);
    lines = [];
    length = 0;
  }
  // What the end cut off is no event.
}

/** The event as text, with its data on one line. */
export function writeEvent({ fields }: ServerSentEvent, data: string): string {
  return `${[...fields, `data: ${data}`].join('\n')}\n\n`;
}

function eventOf(lines: readonly string[]): ServerSentEvent {
  const isData = (line: string) => line === 'data' || line.startsWith('data:');
  const data = lines.filter(isData).map((line) => line.slice('data:'.length).replace(/^ /, ''));
  return { fields: lines.filter((line) => !isData(line)), data: data.join('\n') };
}

async function* linesOf(stream: Readable, max: number): AsyncGenerator<string> {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  for await (const chunk of stream) {
    rest += decoder.write(chunk as Buffer);
    if (rest.length > 2 * max) throw new Error(`the server sent a line longer than ${max} characters`);
    // A \r at the end may be half of a \r\n.
    const lines = rest.split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? '';
    yield* lines;
  }
  if (rest !== '') yield* rest.split(/\r/);
}
