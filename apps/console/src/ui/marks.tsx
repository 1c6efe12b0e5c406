import type { Decision, Run } from '../api/model.ts';
import { Icon } from './icon.tsx';

/** Icon, color and word of a state. */
export interface Mark {
  readonly icon: string;
  readonly tone: string;
  readonly word: string;
}

const RUN: Readonly<Record<string, Mark>> = {
  running: { icon: 's-running', tone: 'running', word: 'Running' },
  waiting: { icon: 's-waiting', tone: 'waiting', word: 'Waiting' },
  paused: { icon: 's-paused', tone: 'paused', word: 'Paused' },
  killed: { icon: 's-killed', tone: 'killed', word: 'Killed' },
  failed: { icon: 's-failed', tone: 'failed', word: 'Failed' },
  timed_out: { icon: 's-timed', tone: 'timed', word: 'Timed out' },
  succeeded: { icon: 's-succeeded', tone: 'succeeded', word: 'Succeeded' },
  cancelled: { icon: 's-cancelled', tone: 'cancelled', word: 'Cancelled' },
  interrupted: { icon: 's-cancelled', tone: 'cancelled', word: 'Interrupted' },
  lost: { icon: 's-lost', tone: 'lost', word: 'Lost' },
  idle: { icon: 's-idle', tone: 'idle', word: 'Idle' },
};

const UNKNOWN: Mark = { icon: 'v-no', tone: 'no', word: 'Unknown' };

function runMark(status: string): Mark {
  return RUN[status] ?? { ...UNKNOWN, word: status };
}

/** Status for display: an order pauses a run, and silence makes it idle, regardless of its own status. */
export function statusOf({ status, idle, control }: Pick<Run, 'status' | 'idle' | 'control'>): string {
  if (status === 'running' && control.state === 'paused') return 'paused';
  return idle ? 'idle' : status;
}

export function RunState({ status, fill = false }: { status: string; fill?: boolean }) {
  const mark = runMark(status);
  return <State mark={mark} fill={fill} turning={status === 'running'} />;
}

export const VERDICTS = {
  allow: { icon: 'v-allow', tone: 'allow', word: 'Allowed' },
  block: { icon: 'v-block', tone: 'block', word: 'Blocked' },
  terminate: { icon: 's-killed', tone: 'block', word: 'Run ended' },
  ask: { icon: 'v-ask', tone: 'ask', word: 'Needs approval' },
  modify: { icon: 'v-modify', tone: 'allow', word: 'Changed' },
  shadow: { icon: 'v-shadow', tone: 'shadow-v', word: 'Would block' },
  bypass: { icon: 'v-bypass', tone: 'bypass', word: 'Bypassed' },
  no: { icon: 'v-no', tone: 'no', word: 'No match' },
} satisfies Record<string, Mark>;
export type Verdict = keyof typeof VERDICTS;

const WOULD: Readonly<Record<string, string>> = {
  block: 'Would block',
  terminate: 'Would end the run',
  ask: 'Would need approval',
  modify: 'Would modify',
};

/** Rules in force that could not be evaluated: rules in shadow let nothing pass. */
export function bypassedRules({
  bypasses,
  evaluatedRules,
}: Pick<Decision, 'bypasses' | 'evaluatedRules'>): Decision['bypasses'] {
  const inShadow = new Set(evaluatedRules.flatMap(({ ruleId, mode }) => (mode === 'shadow' ? [ruleId] : [])));
  return bypasses.filter(({ ruleId }) => !inShadow.has(ruleId));
}

/** Mark of a decision: its effect, or the effect of shadow rules. */
export function verdictOf(
  decision: Pick<Decision, 'verdict' | 'control' | 'effect' | 'wouldHave' | 'cause' | 'bypasses' | 'evaluatedRules'>,
): Mark {
  if (decision.verdict === 'BLOCK') {
    if (decision.cause.kind === 'HITL_PENDING') return VERDICTS.ask;
    return decision.control === 'TERMINATE' ? VERDICTS.terminate : VERDICTS.block;
  }
  const would = decision.wouldHave === undefined ? undefined : WOULD[decision.wouldHave];
  if (would !== undefined) return { ...VERDICTS.shadow, word: would };
  if (bypassedRules(decision).length > 0) return VERDICTS.bypass;
  return decision.effect === 'modify' ? VERDICTS.modify : VERDICTS.allow;
}

/** Name of a shadow effect. */
export function wouldWord(effect: string): string {
  return WOULD[effect] ?? 'Would allow';
}

export function VerdictMark({ mark, wordless = false }: { mark: Mark; wordless?: boolean }) {
  return <State mark={mark} wordless={wordless} />;
}

export function State({
  mark,
  fill = false,
  wordless = false,
  turning = false,
}: {
  mark: Mark;
  fill?: boolean;
  wordless?: boolean;
  turning?: boolean;
}) {
  return (
    <span className={`st ${mark.tone} ${fill ? 'fill' : ''}`}>
      {turning ? <RunningRing /> : <Icon name={mark.icon} size={14} />}
      <span className={wordless ? 'vh' : undefined}>{mark.word}</span>
    </span>
  );
}

/** Inline, because parts of the sprite cannot be animated. */
function RunningRing() {
  return (
    <svg className="i14" viewBox="0 0 16 16" aria-hidden="true">
      <circle cx="8" cy="8" r="5.9" fill="none" stroke="currentColor" strokeWidth="1.5" opacity=".28" />
      <path
        className="turn"
        d="M8 2.1A5.9 5.9 0 0 1 13.9 8"
        fill="none"
        stroke="currentColor"
        strokeWidth="1.75"
        strokeLinecap="round"
      />
      <circle cx="8" cy="8" r="2" fill="currentColor" />
    </svg>
  );
}

export const MODE_NAMES: Readonly<Record<string, string>> = {
  ...{ off: 'Off', shadow: 'Shadow', canary: 'Canary', enforce: 'Enforce', suspended: 'Suspended' },
};

export function ModeChip({ mode, percent }: { mode: string; percent?: number | undefined }) {
  return (
    <span className={`mode ${mode}`}>
      {MODE_NAMES[mode] ?? mode}
      {percent !== undefined && ` ${percent} %`}
    </span>
  );
}

/** Mark and name of each action. */
export const ACTIONS: Readonly<Record<string, Mark>> = {
  block: { icon: 'v-block', tone: 'block', word: 'Block the call' },
  terminate_run: { icon: 's-killed', tone: 'block', word: 'End the run' },
  require_approval: { icon: 'v-ask', tone: 'ask', word: 'Require approval' },
  pause_agent: { icon: 's-paused', tone: 'paused', word: 'Pause the agent' },
  downgrade_model: { icon: 'v-modify', tone: 'no', word: 'Use a cheaper model' },
  modify_arguments: { icon: 'v-modify', tone: 'no', word: 'Change the arguments' },
  raise_alert: { icon: 'alerts', tone: 'waiting', word: 'Raise an alert' },
  notify_webhook: { icon: 'deliveries', tone: 'no', word: 'Call a webhook' },
  webhook: { icon: 'deliveries', tone: 'no', word: 'Notify' },
  agentgate_policy: { icon: 'deliveries', tone: 'no', word: 'Call AgentGate' },
  allow: { icon: 'v-allow', tone: 'allow', word: 'Allow the call' },
};

export function actionMark(actionType: string): Mark {
  return ACTIONS[actionType] ?? { icon: 'v-no', tone: 'no', word: actionType.replaceAll('_', ' ') };
}
