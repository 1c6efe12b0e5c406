import { describe, expect, it } from '@jest/globals';
import { runCli } from '../run-cli.testing.ts';

const TIMES = { startsAt: '2026-11-25T10:00:00.000Z', endsAt: '2026-12-02T10:00:00.000Z', state: 'active' };
const KNOWN = {
  deputies: [{ person: 'p-2', name: 'Ben', ...TIMES }],
  standsInFor: [{ person: 'p-3', name: 'Cem', ...TIMES }],
  candidates: [
    { person: 'p-2', name: 'Ben' },
    { person: 'p-3', name: 'Cem' },
    { person: 'p-4', name: 'Cem' },
  ],
};
const answer = ({ method }: { method: string }) =>
  method === 'GET' ? KNOWN : method === 'PUT' ? KNOWN.deputies[0] : { id: 'p-2', ended: true };

describe('deputies', () => {
  it('are listed in both directions', async () => {
    const { stdout } = await runCli(['deputies', 'list'], { answer });
    expect(stdout).toMatch(/p-2 +Ben +in your place/);
    expect(stdout).toMatch(/p-3 +Cem +you, in the place of this person/);
  });

  it('are named by name, for some time from now', async () => {
    const { stdout, requests } = await runCli(['deputies', 'set', 'ben', '--for', '7d'], { answer });
    expect(requests[1]).toMatchObject({
      ...{ method: 'PUT', path: '/api/me/deputies/p-2', body: { endsAt: '2026-12-02T10:00:00.000Z' } },
    });
    expect(stdout).toContain('Ben decides in your place until 2026-12-02');
  });

  it('are ended by name', async () => {
    const { requests } = await runCli(['deputies', 'end', 'Ben'], { answer });
    expect(requests[1]).toMatchObject({ method: 'DELETE', path: '/api/me/deputies/p-2' });
  });

  it.each([
    [['set', 'Cem', '--for', '7d'], 'Several people are named Cem', 'Cem (p-3), Cem (p-4)'],
    [['set', 'unknown', '--for', '7d'], 'No person who may review is named unknown', 'Ben (p-2)'],
    [['end', 'Cem'], 'Cem is not a deputy of yours', 'Ben (p-2)'],
  ])('are not guessed: %j', async (words, error, hint) => {
    const { exitCode, stderr, requests } = await runCli(['deputies', ...words], { answer });
    expect([exitCode, requests.length]).toEqual([5, 1]);
    expect(stderr).toContain(error);
    expect(stderr).toContain(hint);
  });
});
