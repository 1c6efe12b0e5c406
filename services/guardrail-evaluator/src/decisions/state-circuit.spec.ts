import { createLogger } from '@agentlens/platform';
import { StateUnavailable } from '@agentlens/state';
import { eventually } from '@agentlens/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Deadline, StateCircuit } from './state-circuit.ts';

const logger = createLogger({ name: 'test', level: 'silent' });
const DATA = { some: 'data' };
const circuits: StateCircuit[] = [];
afterEach(() => {
  for (const circuit of circuits.splice(0)) circuit.stop();
});

/** A circuit in front of a store that can fail: it rejects, or never answers. */
function circuitBefore(store: { away: 'refuses' | 'hangs' | false }) {
  const counts = { asked: 0, probes: 0, probing: 0, maxProbing: 0 };
  const answer = async () => {
    if (store.away === 'hangs') await new Promise(() => undefined);
    if (store.away === 'refuses') throw new StateUnavailable('work', new Error('away'));
    return DATA;
  };
  const circuit = new StateCircuit({
    logger,
    probeMs: 1,
    probe: async () => {
      counts.probes += 1;
      counts.probing += 1;
      counts.maxProbing = Math.max(counts.maxProbing, counts.probing);
      await answer().finally(() => (counts.probing -= 1));
    },
  });
  circuits.push(circuit);
  const ask = async (deadlineMs = 1_000) => {
    const deadline = new Deadline(deadlineMs);
    const work = () => {
      counts.asked += 1;
      return answer();
    };
    const outcome = await circuit.ask(deadline, work, () => undefined);
    deadline[Symbol.dispose]();
    return outcome;
  };
  return { ask, circuit, counts };
}

describe('StateCircuit', () => {
  it('opens after three consecutive failures, sends one probe at a time, and closes once a probe is answered', async () => {
    const store: Parameters<typeof circuitBefore>[0] = { away: 'refuses' };
    const { ask, circuit, counts } = circuitBefore(store);
    for (let i = 0; i < 20; i++) expect(await ask()).toBe('unavailable');
    expect(counts.asked).toBe(3);
    await eventually(() => expect(counts.probes).toBeGreaterThan(3));
    expect(counts.maxProbing).toBe(1);
    store.away = false;
    await eventually(() => expect(circuit.away).toBe(false));
    expect(await ask()).toBe(DATA);
  });

  it('treats a store that does not answer as unavailable', async () => {
    const { ask, circuit, counts } = circuitBefore({ away: 'hangs' });
    expect(await Promise.all([ask(150), ask(150), ask(150)])).toEqual(['deadline', 'deadline', 'deadline']);
    expect(circuit.away).toBe(true);
    expect(await ask()).toBe('unavailable');
    expect(counts.asked).toBe(3);
  });

  it('ignores timeouts of questions that had hardly any time', async () => {
    const { ask, circuit } = circuitBefore({ away: 'hangs' });
    for (let i = 0; i < 5; i++) expect(await ask(10)).toBe('deadline');
    expect(circuit.away).toBe(false);
  });

  it('resets the failure count with every answer', async () => {
    const store: Parameters<typeof circuitBefore>[0] = { away: 'refuses' };
    const { ask, circuit } = circuitBefore(store);
    for (let i = 0; i < 6; i++) {
      store.away = i % 3 === 2 ? false : 'refuses';
      await ask();
    }
    expect(circuit.away).toBe(false);
  });

  it('ignores failures that do not come from the store', async () => {
    const { circuit } = circuitBefore({ away: false });
    const broken = () => Promise.reject(new Error('a bug'));
    for (let i = 0; i < 5; i++) await circuit.ask(new Deadline(1_000), broken, () => undefined);
    expect(circuit.away).toBe(false);
  });
});
