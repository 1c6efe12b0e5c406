import { recordMeters } from '@agentlens/testing';
import { expect, it } from '@jest/globals';
import { observeQueue } from './telemetry.ts';

it('reports the size and the capacity of a queue until it is stopped', () => {
  const meters = recordMeters();
  const waiting = [1, 2];
  const stop = observeQueue({ name: 'things', capacity: 10, size: () => waiting.length });
  waiting.push(3);
  const shown = () => [meters.gauge('agentlens.queue.size'), meters.gauge('agentlens.queue.capacity')];
  expect(shown()).toEqual([3, 10]);
  stop();
  expect(shown()).toEqual([undefined, undefined]);
  meters.stop();
});
