import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { FingerprintWork } from './fingerprint-work.ts';

const IN_TIME = { leftMs: 100 };

describe('FingerprintWork', () => {
  it('drops work whose deadline has passed', async () => {
    let runs = 0;
    expect(await new FingerprintWork().run('acme', { leftMs: 0 }, () => (runs += 1))).toBe('deadline');
    expect(runs).toBe(0);
  });

  it('runs one call per turn of the event loop', async () => {
    const work = new FingerprintWork();
    const log: string[] = [];
    const calls = ['a', 'b', 'c'].map((name) => work.run('acme', IN_TIME, () => log.push(name)));
    const turns = async () => {
      for (let turn = 0; turn < 20; turn++) {
        await new Promise((resolve) => setImmediate(resolve));
        log.push('|');
      }
    };
    await Promise.all([...calls, turns()]);
    expect(log.join('')).not.toMatch(/[abc]{2}/);
    expect(log.join('').replaceAll('|', '')).toBe('abc');
  });

  it('gives each tenant a share of the time, in any order of calls', async () => {
    const call = fc.record({ tenant: fc.constantFrom('acme', 'globex'), ms: fc.nat(60), pauseMs: fc.nat(40) });
    await fc.assert(
      fc.asyncProperty(fc.array(call, { maxLength: 60 }), async (calls) => {
        let nowMs = 0;
        const work = new FingerprintWork(() => nowMs);
        const used = { acme: 0, globex: 0 };
        for (const { tenant, ms, pauseMs } of calls) {
          nowMs += pauseMs;
          await work.run(tenant as 'acme', IN_TIME, () => {
            nowMs += ms;
            used[tenant as 'acme'] += ms;
          });
          for (const ofTenant of Object.values(used)) expect(ofTenant).toBeLessThanOrEqual(500 + nowMs / 5 + 60);
        }
      }),
      { numRuns: 50 },
    );
  });
});
