import { describe, expect, it } from '@jest/globals';
import { TestPlatform } from '../testing/index.ts';
import { withRun } from './run-context.ts';

const isStart = (path: string) => path.endsWith('/start');

describe('a child run', () => {
  it('is reported to the server as a child, also if it only starts inside the parent', async () => {
    const server = new TestPlatform();
    const client = await server.client();
    const parent = await client.startRun({ runId: 'parent' });
    const inside = await withRun(parent, () => client.startRun({ runId: 'inside' }));
    const named = await withRun(parent, () => client.startRun({ runId: 'named', parentRunId: 'other' }));
    await client.startRun({ runId: 'alone' });
    const starts = server.calls.filter(({ path }) => isStart(path)).map(({ body }) => body as { parentRunId?: string });
    expect(starts.map(({ parentRunId }) => parentRunId)).toEqual([undefined, 'parent', 'other', undefined]);
    expect([inside.id, named.id]).toEqual(['inside', 'named']);
  });

  it('is stopped with its parent, but not the other way round', async () => {
    const server = new TestPlatform();
    const client = await server.client();
    await client.startRun({ runId: 'parent' });
    const child = await client.startRun({ runId: 'child', parentRunId: 'parent' });
    const other = await client.startRun({ runId: 'other' });
    server.control.kill('parent', 'out of hand');
    await server.clock.advance(1);
    expect(await child.beforeTool('t', {})).toMatchObject({ verdict: 'BLOCK', control: 'TERMINATE', source: 'local' });
    expect(child.signal.aborted).toBe(true);
    expect(await other.beforeTool('t', {})).toMatchObject({ verdict: 'ALLOW' });
  });

  it('is stopped with every ancestor that the server reports', async () => {
    const server = new TestPlatform();
    server.lockdown = { active: false, ancestors: ['parent', 'root'] };
    const client = await server.client();
    const child = await client.startRun({ runId: 'child', parentRunId: 'parent' });
    server.control.kill('root');
    await server.clock.advance(1);
    expect(child.controlState).toMatchObject({ state: 'killed' });
  });
});
