import {
  type Alert,
  type ApprovalBinding,
  type ApprovalCall,
  alertChanged,
  COMMANDS,
  type Command,
  controlOrdered,
  type EndedCall,
} from '@agentlens/contracts';
import type { Dispatching } from './dispatching.ts';

const HASH = 'a'.repeat(64);

/** The specs test the answer, not whether a busy machine meets the platform's deadline. */
const patient = <Q, A>(command: Command<Q, A>): Command<Q, A> => ({ ...command, deadlineMs: 15_000 });

/** Asks, decides and listens in the specs of alerts, approvals and control. */
export function reviewing(world: Dispatching) {
  const { bus, db } = world;
  return {
    binding: (fields: Partial<ApprovalBinding> = {}): ApprovalBinding => ({
      runId: 'run-1',
      callId: 'call-1',
      toolName: 'pay',
      argsHash: HASH,
      ruleId: 'rule-1',
      ruleVersion: 1,
      ...fields,
    }),

    resolve: (
      binding: ApprovalBinding,
      fields: {
        tenantId?: string;
        agentId?: string;
        requestId?: string;
        asksAgain?: boolean;
        expiresInSeconds?: number;
        call?: ApprovalCall;
      } = {},
    ) =>
      bus.request(patient(COMMANDS.resolveApproval), {
        tenantId: 'acme',
        agentId: 'agent-1',
        binding,
        title: 'May it pay?',
        message: 'pay wants to run',
        expiresInSeconds: 900,
        ...fields,
      }),

    spend: (call: EndedCall, tenantId = 'acme') =>
      bus.request(patient(COMMANDS.spendApprovals), { tenantId, calls: [call] }),

    raise: (fields: Partial<Alert> = {}) =>
      bus.request(patient(COMMANDS.raiseAlert), {
        tenantId: 'acme',
        kind: 'rule',
        severity: 'warn',
        title: 'Look',
        message: 'at this',
        agentId: 'agent-1',
        ...fields,
      }),

    decide: (
      alertId: string,
      verb: 'acknowledge' | 'approve' | 'deny' | 'cancel',
      fields: { tenantId?: string; by?: string; reason?: string; ifVersion?: number } = {},
    ) => bus.request(patient(COMMANDS.decideAlert), { tenantId: 'acme', alertId, verb, by: 'ann', ...fields }),

    order: (
      fields: Partial<{
        tenantId: string;
        scope: 'run' | 'agent' | 'tenant';
        scopeId: string;
        agentId: string;
        state: 'running' | 'paused' | 'killed';
        reason: string;
        by: string;
        ifVersion: number;
      }> = {},
    ) =>
      bus.request(patient(COMMANDS.orderControl), {
        tenantId: 'acme',
        scope: 'run',
        scopeId: 'run-1',
        state: 'killed',
        reason: 'enough',
        by: 'ann',
        ...fields,
      }),

    /** Collects every change published from now on. */
    async changes() {
      const alerts: Alert[] = [];
      const orders: { scopeId: string; version: number; state: string }[] = [];
      const watches = [
        await bus.watch(alertChanged, {}, ({ value }) => alerts.push(value)),
        await bus.watch(controlOrdered, {}, ({ value }) => orders.push(value)),
      ];
      return { alerts, orders, close: () => Promise.all(watches.map((watch) => watch.close())) };
    },

    alert: (alertId: string) =>
      db.selectFrom('alerts').selectAll().where('alert_id', '=', alertId).executeTakeFirstOrThrow(),

    alertsOf: (tenantId: string) =>
      db.selectFrom('alerts').selectAll().where('tenant_id', '=', tenantId).orderBy('created_at').execute(),
  };
}

/** Returns the value of a successful answer. */
export function granted<T>(answer: { ok: true; value: T } | { ok: false; problem: object }): T {
  if (!answer.ok) throw new Error(`refused: ${JSON.stringify(answer.problem)}`);
  return answer.value;
}
