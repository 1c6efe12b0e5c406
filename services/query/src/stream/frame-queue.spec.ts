import { Writable } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { FrameQueue, FrameRoom } from './frame-queue.ts';

/** A reader that accepts data only on `take`. */
class SlowReader extends Writable {
  readonly got: string[] = [];
  #next: (() => void) | undefined;

  constructor() {
    super({ highWaterMark: 1, decodeStrings: false });
  }

  override _write(chunk: string, _encoding: string, done: () => void): void {
    this.got.push(chunk);
    this.#next = done;
  }

  /** Resolves when everything that could be written in the meantime was written. */
  async take(): Promise<void> {
    const next = this.#next;
    this.#next = undefined;
    next?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const room = () => new FrameRoom().forKey('key');

const frame = (n: number) => ({ event: 'event', data: { n }, id: String(n) });

describe('frame queue', () => {
  it('keeps frames until it is started, then sends them in order', async () => {
    const queue = new FrameQueue(() => undefined, room());
    const reader = new SlowReader();
    queue.push(frame(1));
    queue.push(frame(2));
    queue.start(reader);
    await reader.take();
    expect(reader.got).toEqual(['event: event\nid: 1\ndata: {"n":1}\n\n', 'event: event\nid: 2\ndata: {"n":2}\n\n']);
  });

  it('drops the oldest frames for a blocked reader and reports their number and where to resume', async () => {
    const queue = new FrameQueue(() => undefined, room(), { frames: 2, bytes: 10_000 });
    const reader = new SlowReader();
    queue.start(reader);
    for (let n = 1; n <= 6; n++) queue.push(frame(n));
    for (let n = 1; n <= 4; n++) await reader.take();
    expect(reader.got.map((text) => /data: (.*)\n/.exec(text)?.[1])).toEqual([
      '{"n":1}',
      '{"count":3,"lastEventId":"1"}',
      '{"n":5}',
      '{"n":6}',
    ]);
  });

  it('limits the bytes that wait', async () => {
    const queue = new FrameQueue(() => undefined, room(), { frames: 1_000, bytes: 500 });
    const reader = new SlowReader();
    queue.start(reader);
    queue.push(frame(0));
    for (let n = 0; n < 10; n++) queue.push({ event: 'event', data: 'x'.repeat(300) });
    await reader.take();
    expect(reader.got.at(-1)).toContain('"count":9');
  });

  it('counts exactly the dropped frames and reports the same number to the reader', async () => {
    const moves = fc.array(fc.constantFrom('push', 'push', 'push', 'take'), { maxLength: 80 });
    await fc.assert(
      fc.asyncProperty(moves, fc.integer({ min: 1, max: 5 }), async (steps, frames) => {
        let dropped = 0;
        const queue = new FrameQueue(() => (dropped += 1), room(), { frames, bytes: 10_000 });
        const reader = new SlowReader();
        queue.start(reader);
        let pushed = 0;
        for (const step of steps) {
          if (step === 'push') queue.push(frame(pushed++));
          else await reader.take();
        }
        // Each `take` lets at least one frame through, so after this many nothing waits.
        for (let n = 0; n <= pushed; n++) await reader.take();
        const shown = reader.got.filter((text) => text.startsWith('event: event')).length;
        const reported = reader.got.flatMap((text) => /"count":(\d+)/.exec(text)?.[1] ?? []).map(Number);
        expect(shown + dropped).toBe(pushed);
        expect(reported.reduce((sum, count) => sum + count, 0)).toBe(dropped);
      }),
    );
  });

  it('limits the bytes that wait for all readers of a key, and of an instance', async () => {
    const whole = new FrameRoom(5_000, 8_000);
    const big = (n: number) => ({ event: 'event', data: `${n} ${'é'.repeat(200)}`, id: String(n) });
    const queues = ['a', 'a', 'a', 'b', 'b', 'c'].map((key) => {
      let dropped = 0;
      const queue = new FrameQueue(() => (dropped += 1), whole.forKey(key), { frames: 1_000, bytes: 10_000 });
      const reader = new SlowReader();
      queue.start(reader);
      return { queue, reader, dropped: () => dropped };
    });
    for (let n = 0; n < 40; n++) for (const { queue } of queues) queue.push(big(n));
    // Each queue keeps its newest frame in any case.
    expect(whole.bytes).toBeLessThan(8_000 + queues.length * 500);
    for (const { queue, reader, dropped } of queues) {
      expect(dropped()).toBeGreaterThan(10);
      await reader.take();
      await reader.take();
      expect(reader.got[1]).toContain(`"count":${dropped()}`);
      queue.close();
      queue.push(big(99));
    }
    expect(whole.bytes).toBe(0);
  });

  it('sends nothing to a reader that has disconnected', () => {
    const queue = new FrameQueue(() => undefined, room());
    const reader = new SlowReader();
    queue.start(reader);
    reader.destroy();
    expect(() => queue.push(frame(1))).not.toThrow();
    expect(reader.got).toEqual([]);
  });
});
