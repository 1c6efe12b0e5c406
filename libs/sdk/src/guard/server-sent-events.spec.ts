import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type ServerSentEvent, serverSentEvents } from './control-feed.ts';

async function read(...chunks: string[]): Promise<ServerSentEvent[]> {
  const events: ServerSentEvent[] = [];
  async function* source() {
    yield* chunks;
  }
  for await (const event of serverSentEvents(source())) events.push(event);
  return events;
}

const STREAM =
  'retry: 1000\n\n: hi\nevent: order\r\nid: 7\r\ndata: {"a":\r\ndata: 1}\r\n\r\ndata:x\n\nid\nevent: gone\n\n';

describe('a stream of events', () => {
  const expected = [
    { id: '7', event: 'order', data: '{"a":\n1}' },
    { id: '7', event: 'message', data: 'x' },
  ];

  it('is parsed by the rules of the standard', async () => {
    expect(await read(STREAM)).toEqual(expected);
  });

  it('parses the same for any chunk boundaries', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(STREAM.length), { maxLength: 8 }), async (cuts) => {
        const places = [0, ...cuts.sort((a, b) => a - b), STREAM.length];
        const chunks = places.slice(1).map((end, index) => STREAM.slice(places[index], end));
        expect(await read(...chunks)).toEqual(expected);
      }),
    );
  });

  it('holds back an incomplete event', async () => {
    expect(await read('data: half\n')).toEqual([]);
  });

  it('rejects an event that does not end', async () => {
    await expect(read('data: ', 'x'.repeat(1_000_001))).rejects.toThrow('too long');
  });
});
