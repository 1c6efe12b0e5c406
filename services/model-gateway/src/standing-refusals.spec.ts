import { createLogger } from '@agentlens/platform';
import { createMemoryState, type IdempotencyStore, StateUnavailable } from '@agentlens/state';
import { fixedClock } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import { StandingRefusals } from './standing-refusals.ts';

const logger = createLogger({ name: 'test', level: 'silent' });

/** Two instances of the gateway that share a store. */
function twoInstances() {
  const clock = fixedClock();
  const memory = createMemoryState({ clock }).idempotency;
  const create = (store: Pick<IdempotencyStore, 'remember' | 'find'> = memory) =>
    new StandingRefusals({ memory: store, clock, logger });
  return { clock, one: create(), other: create(), create };
}

describe('the refusal that stands after a stop', () => {
  it('of a budget asks for the room that was missing, in every instance', async () => {
    const { one, other } = twoInstances();
    expect(await one.find('acme', 'run')).toEqual({ lackedUsd: 0 });
    await one.noteLack('acme', 'run', 0.25);
    for (const instance of [one, other]) expect(await instance.find('acme', 'run')).toEqual({ lackedUsd: 0.25 });
    expect(await other.find('acme', 'another')).toEqual({ lackedUsd: 0 });
    expect(await other.find('globex', 'run')).toEqual({ lackedUsd: 0 });
  });

  it('of a rule lasts a minute, in every instance', async () => {
    const { clock, one, other } = twoInstances();
    await one.noteStop('acme', 'run', 'Not today');
    clock.advance(59_999);
    for (const instance of [one, other]) {
      expect(await instance.find('acme', 'run')).toEqual({ lackedUsd: 0, message: 'Not today' });
    }
    clock.advance(1);
    for (const instance of [one, other]) expect(await instance.find('acme', 'run')).toEqual({ lackedUsd: 0 });
  });

  it('is known to every instance each time, and ends for money, too', async () => {
    const { clock, one, other } = twoInstances();
    await one.noteStop('acme', 'run', 'First');
    await one.noteLack('acme', 'run', 0.25);
    clock.advance(11 * 60_000);
    for (const instance of [one, other]) expect(await instance.find('acme', 'run')).toEqual({ lackedUsd: 0 });
    await one.noteLack('acme', 'run', 0.5);
    await one.noteStop('acme', 'run', 'Second');
    for (const instance of [one, other]) {
      expect(await instance.find('acme', 'run')).toEqual({ lackedUsd: 0.5, message: 'Second' });
    }
  });

  it('is known to its own instance without the store', async () => {
    const away = () => Promise.reject(new StateUnavailable('idempotency', 'away'));
    const alone = twoInstances().create({ remember: away, find: away });
    await alone.noteStop('acme', 'run', 'Not today');
    await alone.noteLack('acme', 'run', 1);
    expect(await alone.find('acme', 'run')).toEqual({ lackedUsd: 1, message: 'Not today' });
  });
});
