import { randomUUID } from 'node:crypto';
import type { Completeness, WindowMarker } from '@agentlens/guardrails';
import { answered, type RedisConnection } from './connection.ts';

const KEY = 'windows:since';
const RECOUNTING = 'recounting:';
const SCANS = 10;
const SCANNED = 1_000;

/**
 * A key that says since when the windows are complete. It is lost whenever they are, which is how the loss is noticed:
 * whoever finds it missing puts a turn in its place for as long as counting again may take. A turn is lost with the rest
 * where all is lost once more, so nobody calls complete what was counted before that.
 */
export class RedisWindowMarker implements WindowMarker {
  readonly #redis: RedisConnection;

  constructor(redis: RedisConnection) {
    this.#redis = redis;
  }

  /** Windows that were counted before there was a marker are taken for whole. */
  async adopt(): Promise<void> {
    for (let cursor = '0', scan = 0; scan < SCANS; scan++) {
      const page = this.#redis.scan(cursor, 'MATCH', 'windows:{*', 'COUNT', SCANNED);
      const [next, keys] = await answered('adopt', page);
      if (keys.length > 0) {
        await answered('adopt', this.#redis.set(KEY, '0', 'NX'));
        return;
      }
      if (next === '0') return;
      cursor = next;
    }
  }

  async look(leaseMs: number): Promise<Completeness> {
    const turn = randomUUID();
    const held = await answered('look', this.#redis.set(KEY, RECOUNTING + turn, 'PX', leaseMs, 'NX', 'GET'));
    if (held === null) return { kind: 'lost', turn };
    return held.startsWith(RECOUNTING) ? { kind: 'recounting' } : { kind: 'since', atMs: Number(held) };
  }

  async holds(turn: string): Promise<boolean> {
    return (await answered('holds', this.#redis.get(KEY))) === RECOUNTING + turn;
  }

  async recounted(turn: string, sinceMs: number): Promise<boolean> {
    return (await answered('recounted', this.#redis.endRecount(1, KEY, RECOUNTING + turn, String(sinceMs)))) === 1;
  }
}
