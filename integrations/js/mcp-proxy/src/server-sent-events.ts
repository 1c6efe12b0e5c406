import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';

/** The events of a stream, each as the text it came as. */
export async function* eventsOf(stream: Readable): AsyncGenerator<string> {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  for await (const chunk of stream) {
    rest += decoder.write(chunk as Buffer);
    for (let end = /\r?\n\r?\n/.exec(rest); end !== null; end = /\r?\n\r?\n/.exec(rest)) {
      const length = end.index + end[0].length;
      yield rest.slice(0, length);
      rest = rest.slice(length);
    }
  }
  if (rest !== '') yield rest;
}

export function dataOf(event: string): string {
  const lines = event.split(/\r?\n/).filter((line) => line.startsWith('data:'));
  return lines.map((line) => line.slice('data:'.length).replace(/^ /, '')).join('\n');
}

/** The event with other data in it; its id and name stay. */
export function withData(event: string, data: string): string {
  const fields = event.split(/\r?\n/).filter((line) => line !== '' && !line.startsWith('data:'));
  return `${[...fields, `data: ${data}`].join('\n')}\n\n`;
}
