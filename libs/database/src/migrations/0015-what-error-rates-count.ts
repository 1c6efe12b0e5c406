import { type Kysely, sql } from 'kysely';

/**
 * A stored `error_rate_threshold` says what it counts: it was made when that was events, one being enough. A trigger
 * keeps how its value stands to the threshold.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table guardrail_triggers add column comparison text`.execute(db);
  // The owner of the table is held by its policies too, and no tenant is set here.
  await sql`alter table guardrail_rules no force row level security`.execute(db);
  await nameWhatIsCounted(db);
  await sql`alter table guardrail_rules force row level security`.execute(db);
}

interface StoredRule {
  readonly tenant_id: string;
  readonly rule_id: string;
  readonly condition_type: string;
  readonly condition_config: unknown;
}

/** Rules that say what they count stay as they are. */
async function nameWhatIsCounted(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<StoredRule>`
    select tenant_id, rule_id, condition_type, condition_config from guardrail_rules
    where condition_type = ${ERROR_RATE} or strpos(condition_config::text, ${ERROR_RATE}) > 0
  `.execute(db);
  for (const { tenant_id, rule_id, condition_type, condition_config } of rows) {
    await sql`
      update guardrail_rules set condition_config = ${JSON.stringify(withCounted(condition_type, condition_config))}
      where tenant_id = ${tenant_id} and rule_id = ${rule_id}
    `.execute(db);
  }
}

const ERROR_RATE = 'error_rate_threshold';
const COUNTED_BEFORE = { of: 'events', minEvents: 1 };

/** A condition holds others under `condition` or `conditions`, each with its `type` and `config`. */
function withCounted(type: unknown, config: unknown): unknown {
  if (!isObject(config)) return config;
  if (type === ERROR_RATE) return { ...COUNTED_BEFORE, ...config };
  const { condition, conditions } = config;
  return {
    ...config,
    ...(condition === undefined ? {} : { condition: nested(condition) }),
    ...(Array.isArray(conditions) ? { conditions: conditions.map(nested) } : {}),
  };
}

function nested(condition: unknown): unknown {
  if (!isObject(condition)) return condition;
  return { ...condition, config: withCounted(condition.type, condition.config ?? {}) };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
