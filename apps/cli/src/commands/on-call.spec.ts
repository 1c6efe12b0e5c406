import { describe, expect, it } from '@jest/globals';
import { runCli } from '../run-cli.testing.ts';

const SCHEDULE = {
  ...{ id: 'platform', name: 'Platform', version: 1, at: '2026-11-25T10:00:00.000Z' },
  layers: [
    { people: ['p-1', 'p-2'], rotation: 'week', startsOn: '2026-11-02', handover: '09:00', zone: 'Europe/Berlin' },
  ],
  overrides: [
    { id: 'o-1', person: 'p-3', name: 'Cem', from: '2026-11-25T08:00:00.000Z', to: '2026-11-25T18:00:00.000Z' },
  ],
  onCall: { person: 'p-3', name: 'Cem', because: 'override', override: 'o-1' },
  next: { person: 'p-1', name: 'Ann', because: 'layer', layer: 1, at: '2026-11-25T18:00:00.000Z' },
};
const EMPTY = { ...SCHEDULE, id: 'night', name: 'Night', onCall: { person: null, name: null, because: 'empty_shift' } };
const answer = ({ path }: { path: string }) =>
  path === '/api/on-call' ? { schedules: [SCHEDULE, { ...EMPTY, layers: [], overrides: [], next: null }] } : SCHEDULE;

describe('on-call', () => {
  it('now says who is on call on each schedule, and why', async () => {
    const { stdout } = await runCli(['on-call', 'now'], { answer });
    expect(stdout).toMatch(/platform +Platform +Cem +override +Ann/);
    expect(stdout).toMatch(/night +Night +no person +empty shift/);
  });

  it('now answers for one schedule at a time', async () => {
    const { stdout, requests } = await runCli(['on-call', 'now', 'platform', '--at', '2026-11-26T10:00:00Z'], {
      answer,
    });
    expect(requests[0]?.path).toContain('/api/on-call/platform?at=2026-11-26');
    expect(stdout).toContain('Platform, on call: Cem (override)\nNext: Ann, from 2026-11-25T18:00:00.000Z');
    const refused = await runCli(['on-call', 'now', '--at', '2026-11-26T10:00:00Z'], { answer });
    expect(refused.stderr).toContain('--at needs a schedule');
  });

  it('list shows layers and overrides', async () => {
    const { stdout } = await runCli(['on-call', 'list'], { answer });
    expect(stdout).toContain('each week at 09:00 Europe/Berlin from 2026-11-02');
    expect(stdout).toMatch(/override o-1 +Cem/);
  });

  it('override puts a person on call from now', async () => {
    const { stdout, requests } = await runCli(['on-call', 'override', 'platform', 'p-3', '--for', '7d'], { answer });
    expect(requests[0]).toMatchObject({
      ...{ method: 'POST', path: '/api/on-call/platform/overrides' },
      body: { person: 'p-3', to: '2026-12-02T10:00:00.000Z' },
    });
    expect(stdout).toContain('Platform, on call now: Cem');
  });
});
