import { alertChanged, breakerChanged, controlOrdered, guardrailTriggered } from '@agentlens/contracts';
import { APPROVAL_CHANGED, AUDIT_RECORDED, BUDGET_REACHED, type WebhookMessage } from './webhook-notice.ts';

type Data = Readonly<Record<string, unknown>>;

/** Where the console shows what a message is about. */
const PATHS: Readonly<Record<string, (data: Data) => string>> = {
  [APPROVAL_CHANGED]: ({ id }) => `/approvals?id=${escaped(id)}`,
  [alertChanged.name]: ({ id }) => `/alerts?id=${escaped(id)}`,
  [guardrailTriggered.name]: ({ ruleId }) => `/guardrails/${escaped(ruleId)}`,
  [controlOrdered.name]: ofScope,
  [breakerChanged.name]: ofScope,
  [AUDIT_RECORDED]: ({ targetId }) => `/audit?targetId=${escaped(targetId)}`,
  [BUDGET_REACHED]: () => '/spend',
};

/** Undefined where nobody said where the platform is reached. */
export function linkTo({ type, data }: WebhookMessage, publicUrl: string | undefined): string | undefined {
  if (publicUrl === undefined) return undefined;
  return publicUrl.replace(/\/+$/, '') + (PATHS[type]?.(data as Data) ?? '/');
}

function ofScope({ scope, scopeId }: Data): string {
  if (scope === 'run') return `/runs/${escaped(scopeId)}`;
  return scope === 'agent' ? `/agents/${escaped(scopeId)}` : '/';
}

function escaped(id: unknown): string {
  return encodeURIComponent(String(id));
}
