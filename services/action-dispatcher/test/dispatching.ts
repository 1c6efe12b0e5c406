import { Writable } from 'node:stream';
import type { GuardrailRule, Trigger } from '@agentlens/contracts';
import { type Database, migrate, openDatabase } from '@agentlens/database';
import { createMemoryBus, type EventBus } from '@agentlens/messaging';
import {
  assemblePlatform,
  createHttpApp,
  createLogger,
  loadConfig,
  type Platform,
  startApp,
} from '@agentlens/platform';
import { createMemoryState } from '@agentlens/state';
import { aRule, eventually, type FixedClock, fixedClock, freshDatabase } from '@agentlens/testing';
import { ActionDispatcherModule } from '../src/action-dispatcher.module.ts';
import { TriggerPartitions, TriggerRecorder } from '../src/triggers/trigger-recorder.ts';
import type { Timings } from '../src/wire.ts';

export const START = '2026-03-01T12:00:00.000Z';

interface StartOptions {
  readonly timings?: Partial<Timings>;
  readonly bus?: EventBus;
  readonly database?: Database;
  readonly retentionDays?: number;
  readonly publicUrl?: string;
}

/** A migrated database with everything that a dispatcher needs. Any number of dispatchers can be started. */
export async function dispatching() {
  const fresh = await freshDatabase({ migrate });
  const database = openDatabase({ url: fresh.url, role: 'action-dispatcher' });
  const evaluator = openDatabase({ url: fresh.url, role: 'guardrail-evaluator', maxConnections: 1 });
  const clock: FixedClock = fixedClock(START);
  const bus = createMemoryBus();
  const running: { stop(): Promise<void> }[] = [];
  let logged = '';
  const stream = new Writable({
    write(chunk, _encoding, done) {
      logged += String(chunk);
      done();
    },
  });
  const logger = createLogger({ name: 'test', level: 'debug', stream });
  const { db } = database;
  const platform: Platform = assemblePlatform({
    config: loadConfig('standalone', { DATABASE_URL: fresh.url, AGENTLENS_EGRESS_ALLOW: '127.0.0.1/32' }),
    ...{ bus, clock, logger, databaseUrl: fresh.url, state: createMemoryState() },
    secretKeys: [Buffer.alloc(32, 7).toString('base64')],
  });

  return {
    url: fresh.url,
    database,
    db,
    bus,
    clock,
    secrets: platform.secrets,
    health: platform.health,
    logged: () => logged,

    /** A recorder alone: records triggers as the consumer does, without carrying anything out. */
    recorder: () => {
      const now = () => clock.now();
      const recorder = new TriggerRecorder(db, new TriggerPartitions(db, now, () => undefined), now);
      return {
        recordAll: (triggers: readonly Trigger[]) => recorder.record(triggers.map((trigger) => ({ trigger }))),
        record: async (trigger: Trigger, traceparent?: string) =>
          (await recorder.record([{ trigger, traceparent }]))[0],
      };
    },

    /** Starts the service as its process does, on this world's platform with some parts replaced. */
    async start(options: StartOptions = {}): Promise<{ stop(): Promise<void> }> {
      const { retentionDays = 0, publicUrl, timings } = options;
      const { egress, egressPolicy, secrets, health, config } = platform;
      const own: Platform = {
        ...{ ...platform, egress, egressPolicy, secrets, health },
        config: { ...config, retentionDays, publicUrl },
        bus: options.bus ?? bus,
        database: () => options.database ?? database,
      };
      const module = ActionDispatcherModule.register(own, { timings: { pollMs: 15, ...timings }, random: () => 0 });
      const app = await createHttpApp(own, [module]);
      await startApp(app);
      let stopping: Promise<void> | undefined;
      const service = {
        stop: () => {
          stopping ??= app.close();
          return stopping;
        },
      };
      running.push(service);
      return service;
    },

    async stopAll(): Promise<void> {
      await Promise.all(running.splice(0).map((service) => service.stop()));
    },

    async rule(fields: Partial<GuardrailRule> = {}): Promise<GuardrailRule> {
      const rule = aRule(fields);
      await evaluator.db
        .insertInto('guardrail_rules')
        .values({
          tenant_id: rule.tenantId,
          rule_id: rule.id,
          version: rule.version,
          name: rule.name,
          description: null,
          enabled: true,
          condition_type: rule.conditionType,
          condition_config: JSON.stringify(rule.conditionConfig),
          action_type: rule.actionType,
          action_config: JSON.stringify(rule.actionConfig),
          agent_id: null,
          cooldown_minutes: rule.cooldownMinutes,
          dry_run: rule.dryRun,
          direction: 'both',
          tool_names: null,
          priority: 0,
          created_at: rule.createdAt,
          updated_at: rule.updatedAt,
          deleted_at: null,
        })
        .execute();
      return rule;
    },

    async deleteRule(rule: GuardrailRule): Promise<void> {
      await evaluator.db
        .updateTable('guardrail_rules')
        .set({ deleted_at: START, enabled: false })
        .where('tenant_id', '=', rule.tenantId)
        .where('rule_id', '=', rule.id)
        .execute();
    },

    async history(trigger: Trigger) {
      return db
        .selectFrom('guardrail_triggers')
        .selectAll()
        .where('tenant_id', '=', trigger.tenantId)
        .where('trigger_id', '=', trigger.id)
        .executeTakeFirst();
    },

    async delivery(trigger: Trigger) {
      return db
        .selectFrom('deliveries')
        .selectAll()
        .where('tenant_id', '=', trigger.tenantId)
        .where('trigger_id', '=', trigger.id)
        .executeTakeFirstOrThrow();
    },

    async attempts(trigger: Trigger) {
      return db
        .selectFrom('delivery_attempts')
        .innerJoin('deliveries', (join) =>
          join
            .onRef('deliveries.tenant_id', '=', 'delivery_attempts.tenant_id')
            .onRef('deliveries.delivery_id', '=', 'delivery_attempts.delivery_id'),
        )
        .selectAll('delivery_attempts')
        .where('deliveries.tenant_id', '=', trigger.tenantId)
        .where('deliveries.trigger_id', '=', trigger.id)
        .orderBy('attempt')
        .execute();
    },

    /** Waits until the history shows this result. */
    async settled(trigger: Trigger, result: string) {
      return eventually(async () => {
        const row = await this.history(trigger);
        if (row?.action_result !== result) throw new Error(`still ${row?.action_result}: ${row?.action_detail}`);
        return row;
      });
    },

    async close(): Promise<void> {
      await this.stopAll();
      await platform.close();
      await evaluator.close();
      await database.close();
      await fresh.drop();
    },
  };
}

export type Dispatching = Awaited<ReturnType<typeof dispatching>>;

/** The trigger that `rule` would fire. */
export function firedBy(rule: GuardrailRule): Partial<Trigger> {
  return {
    tenantId: rule.tenantId,
    ruleId: rule.id,
    ruleName: rule.name,
    ruleVersion: rule.version,
    actionType: rule.actionType,
    cooldownMinutes: rule.cooldownMinutes,
    dryRun: rule.dryRun,
  };
}
