import { describe, expect, it } from '@jest/globals';
import { terminateRun } from './terminate-run.ts';

describe('terminate_run', () => {
  it('ends the run, with the configured message if there is one', () => {
    expect(terminateRun.effect({}, {})).toEqual({ kind: 'terminate' });
    expect(terminateRun.effect({ message: 'over' }, {})).toEqual({ kind: 'terminate', message: 'over' });
  });
});
