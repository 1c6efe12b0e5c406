import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createLogger } from './log/create-logger.ts';
import { keptMemoryState } from './open-platform.ts';

const logger = createLogger({ name: 'test', level: 'silent' });
let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'agentlens-state-'));
  file = join(folder, 'data', 'state.bin');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

describe('memory state that is saved', () => {
  it('is restored once after a clean shutdown', async () => {
    const first = await keptMemoryState(file, logger);
    await first.runContexts.keep('acme', 'run', { sessionId: 's' });
    await first.close();
    const second = await keptMemoryState(file, logger);
    expect(await second.runContexts.find('acme', 'run')).toEqual({ sessionId: 's' });
    // Simulates a crash: a file that was read is not read twice.
    const third = await keptMemoryState(file, logger);
    expect(await third.runContexts.find('acme', 'run')).toBeUndefined();
  });

  it('keeps open reservations and what was spent', async () => {
    const nowMs = Date.now();
    const account = {
      ...{ budgetId: 'b', scopeId: 's', periodStart: '2026-03-01', keptMs: 3_600_000 },
      ...{ onUnpriced: 'estimate' as const, limitUsd: 10 },
    };
    const request = (reservationId: string) => ({
      ...{ tenantId: 'acme', reservationId, question: 'q', estimateUsd: 6, accounts: [account] },
      ...{ nowMs, expiresAtMs: nowMs + 600_000 },
    });
    const first = await keptMemoryState(file, logger);
    await first.budgets.seeded('acme');
    await first.budgets.spend('acme', [{ eventId: 'e', costUsd: 1, accounts: [account] }], nowMs);
    expect(await first.budgets.reserve(request('open'))).toMatchObject({ kind: 'reserved' });
    await first.close();

    const { budgets } = await keptMemoryState(file, logger);
    expect(await budgets.reserve(request('other'))).toEqual({ kind: 'unseeded' });
    expect(await budgets.unrecorded('acme', 10)).toMatchObject([{ budgetId: 'b', costUsd: 1 }]);
    await budgets.seed('acme', [{ ...account, spentUsd: 1 }]);
    await budgets.seeded('acme');
    expect(await budgets.reserve(request('other'))).toEqual({ kind: 'refused', budgetId: 'b' });
    expect(await budgets.balances('acme', [account], nowMs)).toMatchObject([{ spentUsd: 1, heldUsd: 6 }]);
    const spendings = [
      { eventId: 'e', costUsd: 1, accounts: [account] },
      { eventId: 'end', reservationId: 'open', costUsd: 2, accounts: [account] },
    ];
    expect(await budgets.spend('acme', spendings, nowMs)).toEqual(['repeated', 'settled']);
    expect(await budgets.balances('acme', [account], nowMs)).toMatchObject([{ spentUsd: 3, heldUsd: 0 }]);
  });

  it('starts empty if the file cannot be read', async () => {
    await (await keptMemoryState(file, logger)).close();
    await writeFile(file, 'nonsense');
    const state = await keptMemoryState(file, logger);
    expect(state.healthy()).toBe(true);
    await state.close();
    expect(await readdir(join(folder, 'data'))).toEqual(['state.bin']);
  });
});
