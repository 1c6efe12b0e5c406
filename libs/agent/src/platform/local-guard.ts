import type { Effects } from '../effects/effects.ts';
import type { GuardedRun, GuardedRunStart, RunGuard } from './run-guard.ts';
import { RunLimiter } from './run-limits.ts';

/** Guard without a platform: requests and reports nothing, but enforces the run's limits. */
export function localGuard(effects: Effects): RunGuard {
  return { begin: async (start) => localRun(start, effects) };
}

function localRun({ runId, limits = {} }: GuardedRunStart, effects: Effects): GuardedRun {
  const limiter = new RunLimiter(limits, () => effects.now());
  const never = new AbortController();
  return {
    id: runId ?? effects.newId(),
    signal: never.signal,
    modelOverride: null,
    async beforeModel({ callId, messages, estimatedTokens }) {
      limiter.beforeModel(callId, estimatedTokens);
      return messages;
    },
    async afterModel(outcome) {
      limiter.modelAnswered(outcome);
    },
    async beforeTool({ toolUseId, input }) {
      const reached = limiter.beforeTool(toolUseId);
      if (reached !== null) return { verdict: 'block', terminate: true, reason: reached, limit: true };
      return { verdict: 'allow', input, reason: 'no platform' };
    },
    async afterTool({ toolUseId, output, failed }) {
      limiter.toolEnded(toolUseId, failed);
      return { verdict: 'allow', input: output, reason: 'no platform' };
    },
    record: () => undefined,
    within: (body) => body(),
    end: () => Promise.resolve(),
  };
}
