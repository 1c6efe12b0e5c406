import { AgentError, type ErrorInfo, errorInfo, isAgentError } from '../core/agent-error.ts';
import type { Message } from '../core/message.ts';
import type { Effects } from '../effects/effects.ts';
import { type GuardedRun, type GuardedRunStart, localGuard, type RunGuard } from './run-guard.ts';

/** Records a guard's answers like any other effect; a replay answers from the recording. */
export function recordedGuard(guard: RunGuard, effects: Effects): RunGuard {
  const inner = effects.replaying ? localGuard(effects) : guard;
  return {
    async begin(start: GuardedRunStart): Promise<GuardedRun> {
      const { sessionId, runId = effects.newId() } = start;
      let run: GuardedRun | undefined;
      const begin = () => inner.begin({ ...start, runId });
      await effects.perform('guard', { do: 'begin', sessionId, runId }, async () => {
        run = await begin();
        return null;
      });
      return recordedRun(run ?? (await begin()), effects);
    },
  };
}

type BeforeModel = { readonly messages: readonly Message[] } | { readonly error: ErrorInfo };

function recordedRun(run: GuardedRun, effects: Effects): GuardedRun {
  return {
    id: run.id,
    signal: run.signal,
    get modelOverride() {
      return run.modelOverride;
    },
    async beforeModel(question) {
      // A replay also counts the run's limits here; only the resulting messages are recorded.
      const answer = await effects.perform(
        'guard',
        { do: 'before-model', callId: question.callId },
        async (): Promise<BeforeModel> => {
          try {
            const messages = await run.beforeModel(question);
            return {
              messages: messages.every((message, index) => message === question.messages[index]) ? [] : messages,
            };
          } catch (error) {
            if (!isAgentError(error)) throw error;
            return { error: errorInfo(error) };
          }
        },
      );
      if ('error' in answer) throw new AgentError(answer.error.code, answer.error.message, { info: answer.error.info });
      return answer.messages.length === 0 ? question.messages : answer.messages;
    },
    afterModel: (outcome) => run.afterModel(outcome),
    beforeTool: ({ signal, ...question }) =>
      effects.perform('guard', { do: 'before-tool', ...question }, () => run.beforeTool({ ...question, signal })),
    afterTool: ({ durationMs, ...outcome }) =>
      effects.perform('guard', { do: 'after-tool', ...outcome }, () => run.afterTool({ ...outcome, durationMs })),
    record: (kind, data) => run.record(kind, data),
    within: (body) => run.within(body),
    end: (status) => run.end(status),
  };
}
