import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Primitive } from './primitive.ts';
import { callTimes } from './sample.ts';

const BLOCK = Buffer.alloc(4_096, 'x');

/** Time to append a block to a file and sync it. Every trigger waits for two such steps in sequence. */
export async function measureDisk(milliseconds: number): Promise<Primitive> {
  const folder = await mkdtemp(join(tmpdir(), 'agentlens-disk-'));
  try {
    const file = await open(join(folder, 'blocks'), 'a');
    try {
      const { middle, p99 } = await callTimes(milliseconds, async () => {
        await file.write(BLOCK);
        await file.datasync();
      });
      return { name: 'file, 4 kB more, synced, p50', unit: 'ms', here: middle, there: 0.086, p99 };
    } finally {
      await file.close();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
