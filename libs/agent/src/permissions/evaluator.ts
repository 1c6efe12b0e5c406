import type { CheckedCall, CompiledMatcher, Match } from './matchers.ts';
import type { PermissionRule, RuleDecision, RuleMatcher, RuleScope } from './rule.ts';

export interface CompiledRule {
  readonly rule: PermissionRule;
  readonly matches: CompiledMatcher;
  /** Breaks ties: the earlier rule wins. */
  readonly order: number;
}

export interface RuleVerdict {
  readonly decision: RuleDecision;
  readonly ruleId?: string;
  readonly reason: string;
}

export interface WhoAsks {
  readonly sessionId: string;
  readonly agentType: string;
}

const SCOPE_RANK: Readonly<Record<RuleScope['kind'], number>> = { user: 0, session: 1, agent: 2, global: 3 };
const SPECIFICITY: Readonly<Record<RuleMatcher['kind'], number>> = {
  ...{ 'command-prefix': 0, path: 0, regex: 0, custom: 0 },
  ...{ 'tool-name': 1, 'tool-category': 2, all: 3 },
};
const SEVERITY: Readonly<Record<RuleDecision, number>> = { allow: 0, 'ask-user': 1, deny: 2 };

/** User before session before agent before global; then priority, then specificity, then order of addition. */
export function inOrder(a: CompiledRule, b: CompiledRule): number {
  return (
    SCOPE_RANK[a.rule.scope.kind] - SCOPE_RANK[b.rule.scope.kind] ||
    b.rule.priority - a.rule.priority ||
    SPECIFICITY[a.rule.matcher.kind] - SPECIFICITY[b.rule.matcher.kind] ||
    a.order - b.order
  );
}

export function isFloor({ decision, overridable }: PermissionRule): boolean {
  return decision === 'deny' && overridable !== true;
}

export function appliesTo(scope: RuleScope, { sessionId, agentType }: WhoAsks): boolean {
  switch (scope.kind) {
    case 'global':
      return true;
    case 'agent':
      return scope.agentType === agentType;
    case 'session':
      return scope.sessionId === sessionId;
    case 'user':
      return (
        (scope.sessionId === undefined || scope.sessionId === sessionId) &&
        (scope.agentType === undefined || scope.agentType === agentType)
      );
  }
}

/**
 * The decision of sorted rules about one call. A matching deny wins over everything; otherwise the first matching rule
 * decides; without a match the call is asked about, or allowed if `whenUnknown` says so.
 */
export function evaluate(rules: readonly CompiledRule[], call: CheckedCall, whenUnknown: RuleDecision): RuleVerdict {
  let mayBeRefused: PermissionRule | null = null;
  for (const { rule, matches } of rules) {
    if (!isFloor(rule)) {
      // Asks if an ask rule or an overridable deny might apply.
      if (rule.decision !== 'allow' && matches(call) === 'maybe') mayBeRefused ??= rule;
      continue;
    }
    const match = matches(call);
    if (match === 'yes') return verdict('deny', rule);
    if (match === 'maybe') mayBeRefused ??= rule;
  }
  const decided = mostSevere(simpleCommands(call).map((simple) => firstMatch(rules, call, simple, whenUnknown)));
  if (decided.decision === 'allow' && mayBeRefused !== null)
    return {
      decision: 'ask-user',
      ruleId: mayBeRefused.id,
      reason: 'a rule could apply to a part that cannot be determined',
    };
  if (decided.decision === 'allow') {
    const unseen = deniedUnseen(rules, call);
    if (unseen !== undefined)
      return {
        decision: 'ask-user',
        ruleId: unseen.id,
        reason: 'a program that can start others could start a denied one',
      };
  }
  return decided;
}

/** A deny that a command could bypass: it runs something that can start any program and that no allow rule names. */
function deniedUnseen(rules: readonly CompiledRule[], call: CheckedCall): PermissionRule | undefined {
  const unknown = call.command?.unknown ?? [];
  if (unknown.length === 0) return undefined;
  const denied = rules.find(({ rule }) => rule.decision === 'deny' && rule.matcher.kind === 'command-prefix')?.rule;
  if (denied === undefined) return undefined;
  const names = rules.filter(({ rule }) => rule.decision === 'allow' && rule.matcher.kind === 'command-prefix');
  const isNamed = (argv: readonly (string | null)[]) =>
    argv.every((word) => word !== null) && names.some(({ matches }) => matches(call, argv) === 'yes');
  return unknown.every(isNamed) ? undefined : denied;
}

/** Each command is decided separately, so that two rules can cover one pipeline. */
function simpleCommands({ command }: CheckedCall): readonly (readonly string[] | undefined)[] {
  return command?.plain ?? [undefined];
}

function firstMatch(
  rules: readonly CompiledRule[],
  call: CheckedCall,
  simple: readonly string[] | undefined,
  whenUnknown: RuleDecision,
): RuleVerdict {
  for (const { rule, matches } of rules) {
    if (isFloor(rule)) continue;
    const match: Match = matches(call, simple);
    if (match === 'yes') return verdict(rule.decision, rule);
  }
  return { decision: whenUnknown, reason: 'no rule matches' };
}

function mostSevere(verdicts: readonly RuleVerdict[]): RuleVerdict {
  return verdicts.reduce((worst, next) => (SEVERITY[next.decision] > SEVERITY[worst.decision] ? next : worst));
}

function verdict(decision: RuleDecision, rule: PermissionRule): RuleVerdict {
  return { decision, ruleId: rule.id, reason: rule.description ?? `rule "${rule.id}"` };
}
