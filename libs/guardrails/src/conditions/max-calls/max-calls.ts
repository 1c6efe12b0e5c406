import { canonicalJson, type DecisionRequest, sha256Hex } from '@agentlens/contracts';
import { z } from 'zod';
import type { CallCondition } from '../../catalog/condition-module.ts';
import { type DecisionAnswer, numberTest } from '../../decisions/answer.ts';
import type { CallFacts } from '../../decisions/facts.ts';
import type { Series } from '../../ports/window-store.ts';
import {
  CallScopeField,
  callsOf,
  chooses,
  choosesAny,
  foldedChoice,
  type ToolChoice,
  toolChoiceFields,
} from '../which-calls.ts';

/** A history keeps its newest 1,000 calls, including the one that is being decided. */
const MAX_IN_SCOPE = 999;

const MaxCallsConfig = z
  .strictObject({
    ...toolChoiceFields,
    max: z.int().min(0).max(1_000_000).meta({ title: 'At most', unit: 'calls' }),
    per: z.enum(['run', 'agent', 'agent_user']).default('run').meta({ title: 'Counted per' }),
    scope: CallScopeField,
    windowMinutes: z.int().min(1).max(1440).optional().meta({ title: 'Window', unit: 'min' }),
    appliesTo: z.enum(['counted', 'every_call']).default('counted').meta({
      title: 'Stops',
      description: 'Further calls of the counted tools, or every call the rule applies to.',
    }),
  })
  .check(({ value, issues }) => {
    if (value.scope !== undefined && value.scope !== 'run') {
      if (value.per !== 'run')
        issues.push({
          code: 'custom',
          path: ['scope'],
          message: `cannot be combined with per ${value.per}`,
          input: value,
        });
      if (value.max > MAX_IN_SCOPE)
        issues.push({
          code: 'custom',
          path: ['max'],
          message: `must be at most ${MAX_IN_SCOPE} in a wider scope`,
          input: value,
        });
    }
    if ((value.per === 'run') === (value.windowMinutes === undefined)) return;
    const message =
      value.per === 'run'
        ? 'is for counts per agent or end user; a run is counted whole'
        : `is required per ${value.per}`;
    issues.push({ code: 'custom', path: ['windowMinutes'], message, input: value });
  });
type MaxCallsConfig = z.infer<typeof MaxCallsConfig>;

/** Number of tool calls: in this run, or by the agent (optionally per end user) in a sliding window. */
export const maxCalls: CallCondition<MaxCallsConfig> = {
  type: 'max_calls',
  title: 'Number of calls',
  description: 'The maximum number of tool calls was reached, in the run or in a sliding window.',
  unit: 'calls',
  cadence: 'call',
  config: MaxCallsConfig,
  example: { tools: ['send_email'], max: 5, per: 'run', appliesTo: 'counted' },
  phases: ['decision'],
  askedIn: ['tool.before', 'tool.after', 'llm.before'],
  ready({ max, per, scope = 'run', windowMinutes = 1, appliesTo, ...choice }) {
    const counted = foldedChoice(choice);
    const isCounted = ({ tool }: Pick<DecisionRequest, 'tool'>) => choosesAny([counted], tool);
    const concerns = (request: DecisionRequest) => appliesTo === 'every_call' || isCounted(request);
    if (per === 'run') {
      const callsBefore = ({ request, calls }: CallFacts): number | DecisionAnswer => {
        if (!concerns(request)) return false;
        const history = calls(scope);
        return history === null ? 'unavailable' : history.filter((call) => chooses(counted, call)).length;
      };
      return {
        reads: [],
        ...callsOf(scope, isCounted, concerns),
        ...numberTest(callsBefore, max, (calls) => calls >= max),
      };
    }
    const metric = `call:count:${keyOf(counted)}`;
    const callsBefore = ({ request, before }: CallFacts): number | DecisionAnswer => {
      const series = seriesOf(metric, per, windowMinutes, request);
      if (series === null) return 'missing';
      return concerns(request) && (before(series)?.sum ?? 'unavailable');
    };
    return {
      reads: per === 'agent_user' ? ['actor'] : [],
      countsCall: isCounted,
      needs(request) {
        const series = seriesOf(metric, per, windowMinutes, request);
        if (series === null || !concerns(request)) return {};
        const adds = request.phase === 'tool.before' && isCounted(request);
        return { series: [series], additions: adds ? [{ series, value: 1, because: 'call' }] : [] };
      },
      ...numberTest(callsBefore, max, (calls) => calls >= max),
    };
  },
};

/** Returns null if calls are counted per end user and the request names none. */
function seriesOf(
  metric: string,
  per: 'agent' | 'agent_user',
  minutes: number,
  { actor }: DecisionRequest,
): Series | null {
  if (per === 'agent_user' && actor === undefined) return null;
  const whose = per === 'agent_user' ? `${metric}@${actor?.externalId}` : metric;
  return { metric: whose, span: { kind: 'sliding', minutes }, shape: 'sum' };
}

/** Key of a tool choice. Rules that count the same tools share their series. */
function keyOf(choice: ToolChoice): string {
  return sha256Hex(canonicalJson(choice)).slice(0, 16);
}
