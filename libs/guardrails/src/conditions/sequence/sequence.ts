import { z } from 'zod';
import type { CallCondition } from '../../catalog/condition-module.ts';
import type { PastCall } from '../../ports/call-history.ts';
import { CallScopeField, callsOf, chooses, choosesAny, foldedChoice, ToolChoice } from '../which-calls.ts';

const choices = z.array(ToolChoice).min(1, 'must not be empty: leave it out if nothing is meant').max(50);

const SequenceConfig = z
  .strictObject({
    mustHaveCalled: choices.optional().meta({ title: 'Must have been called before' }),
    mustNotHaveCalled: choices.optional().meta({ title: 'Must not have been called before' }),
    scope: CallScopeField,
  })
  .refine((config) => config.mustHaveCalled !== undefined || config.mustNotHaveCalled !== undefined, {
    path: ['mustHaveCalled'],
    message: 'is required, or "mustNotHaveCalled"',
  });
type SequenceConfig = z.infer<typeof SequenceConfig>;

/** Detects a wrong order of calls: a call comes before one it requires, or after one it excludes. */
export const sequence: CallCondition<SequenceConfig> = {
  type: 'sequence',
  title: 'Order of calls',
  description: 'The run has not made a required call yet, or has made a forbidden one.',
  unit: '',
  cadence: 'call',
  config: SequenceConfig,
  example: { mustHaveCalled: [{ tools: ['verify_identity'] }] },
  phases: ['decision'],
  askedIn: ['tool.before', 'tool.after', 'llm.before'],
  ready({ mustHaveCalled = [], mustNotHaveCalled = [], scope = 'run' }) {
    const required = mustHaveCalled.map(foldedChoice);
    const forbidden = mustNotHaveCalled.map(foldedChoice);
    const lookedFor = [...required, ...forbidden];
    return {
      reads: [],
      ...callsOf(scope, ({ tool }) => choosesAny(lookedFor, tool)),
      matches({ calls }) {
        const history = calls(scope);
        if (history === null) return 'unavailable';
        const made = history.filter(wasMade);
        const called = (choice: ToolChoice) => made.some((call) => chooses(choice, call));
        return !required.every(called) || forbidden.some(called);
      },
    };
  },
};

/** A call that is still being decided may be rejected, so it does not count as made. */
function wasMade({ status }: PastCall): boolean {
  return status !== 'asked';
}
