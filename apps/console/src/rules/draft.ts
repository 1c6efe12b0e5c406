import type { Catalog, Rule, RuleBody } from '../api/model.ts';

/** A rule while it is written. The same members as the API takes. */
export interface Draft {
  name: string;
  description?: string | undefined;
  conditionType: string;
  conditionConfig: Record<string, unknown>;
  actionType: string;
  actionConfig: Record<string, unknown>;
  agentId?: string | null | undefined;
  toolNames?: string[] | undefined;
  mode: 'off' | 'shadow' | 'enforce';
  cooldownMinutes?: number | undefined;
  priority?: number | undefined;
  onMissing?: 'allow' | 'block' | undefined;
  onUnavailable?: 'allow' | 'block' | undefined;
  selector?: Record<string, unknown> | null | undefined;
}

export interface Problem {
  readonly path: string;
  readonly message: string;
}

/** What of a stored rule a draft holds. */
export function draftOf(rule: Rule): Draft {
  const {
    name,
    description,
    conditionType,
    conditionConfig,
    actionType,
    actionConfig,
    agentId,
    toolNames,
    cooldownMinutes,
    priority,
    onMissing,
    onUnavailable,
    selector,
  } = rule;
  return {
    ...{
      name,
      description,
      conditionType,
      conditionConfig,
      actionType,
      actionConfig,
      agentId: agentId ?? null,
      toolNames,
      cooldownMinutes,
      priority,
      onMissing,
      onUnavailable,
    },
    ...(selector == null ? {} : { selector: selector as Record<string, unknown> }),
    mode: !rule.enabled || rule.mode === 'off' ? 'off' : rule.mode === 'shadow' || rule.dryRun ? 'shadow' : 'enforce',
  };
}

/** As it is sent: what is empty is left out, one switch says the mode. */
export function bodyOf(draft: Draft, mode: Draft['mode']): RuleBody {
  const { toolNames, description, selector, ...rest } = draft;
  return {
    ...rest,
    ...(description === undefined || description === '' ? {} : { description }),
    ...(toolNames === undefined ? {} : { toolNames }),
    ...(selector == null ? {} : { selector }),
    mode,
    enabled: mode !== 'off',
    dryRun: false,
  };
}

export const FIRST_DRAFT: Draft = {
  name: '',
  conditionType: 'tool_name',
  conditionConfig: { operator: 'glob', value: '' },
  actionType: 'block',
  actionConfig: {},
  agentId: null,
  mode: 'shadow',
  onMissing: 'block',
};

/** A rule that would have met this very call: its tool, and the argument that is a number, else its name. */
export function draftFromCall(agentId: string, toolName: string, args: unknown): Draft {
  const entries = typeof args === 'object' && args !== null ? Object.entries(args) : [];
  const number = entries.find((entry): entry is [string, number] => typeof entry[1] === 'number' && entry[1] > 0);
  const common = { agentId, toolNames: [toolName], mode: 'shadow' as const, onMissing: 'block' as const };
  if (number === undefined) {
    return {
      ...common,
      name: `${toolName} again and again`,
      conditionType: 'repeated_call',
      conditionConfig: { times: 3, sameResult: false },
      actionType: 'block',
      actionConfig: { message: 'This call was already made. Use the results you have.' },
    };
  }
  const [path, value] = number;
  return {
    ...common,
    name: `${toolName} with ${path} of ${value} or more`,
    conditionType: 'tool_argument',
    conditionConfig: { path, type: 'number', operator: 'gte', value },
    actionType: 'require_approval',
    actionConfig: { title: `May it call ${toolName}?`, expiresInSeconds: 900 },
  };
}

/** Conditions and actions have to meet in a phase: what can be asked about a call, or what is measured as events come. */
export function fits(catalog: Catalog, conditionType: string, actionType: string): boolean {
  const condition = catalog.conditions.find(({ type }) => type === conditionType);
  const action = catalog.actions.find(({ type }) => type === actionType);
  return (
    condition === undefined || action === undefined || condition.phases.some((phase) => action.phases.includes(phase))
  );
}

export function decides(catalog: Catalog, actionType: string): boolean {
  return catalog.actions.find(({ type }) => type === actionType)?.phases.includes('decision') ?? false;
}
