import {
  type Budget,
  type COMMANDS,
  canonicalJson,
  type GuardrailRule,
  type QuestionOf,
  sha256Hex,
  type TenantBook,
  type TenantBookAnswer,
} from '@agentlens/contracts';
import { activate, isInForce } from '@agentlens/guardrails';
import type { Clock, TenantSettingsCache } from '@agentlens/platform';
import { BoundedMap } from '@agentlens/state';
import type { OpenBreakers } from '../breakers/breakers.repository.ts';
import type { TenantLimits } from '../breakers/limits.ts';
import type { RuleLibrary } from '../rules/rule-library.ts';

/** Leaves room below the broker's 1 MiB. */
const MAX_BOOK_BYTES = 900_000;
/** Maximum number of tenants whose version is remembered. The oldest are evicted and hashed again. */
const MAX_KNOWN = 10_000;

type Settings<T> = Pick<TenantSettingsCache<T>, 'of' | 'reload'>;

interface TenantBooksDependencies {
  readonly rules: Pick<RuleLibrary, 'decisionMarks' | 'stored' | 'reload'>;
  readonly limits: Settings<TenantLimits>;
  readonly budgets: Settings<readonly Budget[]>;
  readonly open: Settings<OpenBreakers>;
  readonly clock: Clock;
}

interface Versioned extends Pick<TenantBook, 'limitsVersion' | 'budgets' | 'openBreakers' | 'version'> {
  /** What it was made from, compared by identity. */
  readonly parts: readonly unknown[];
  readonly resumesAtMs: number | null;
}

/** Answers gateways with what the evaluator decides by. Comparing versions needs no database. */
export class TenantBooks {
  readonly #parts: TenantBooksDependencies;
  readonly #known = new BoundedMap<Versioned>(MAX_KNOWN);

  constructor(parts: TenantBooksDependencies) {
    this.#parts = parts;
  }

  async answer(question: QuestionOf<typeof COMMANDS.tenantBook>): Promise<TenantBookAnswer> {
    const { tenantId, haveVersion, reread, announced } = question;
    const { rules, limits, budgets: charged, open, clock } = this.#parts;
    // A gateway may receive the announcement of a change before this instance has read it.
    if (reread === true)
      await Promise.all([rules, limits, charged, open].map((part) => part.reload(tenantId, announced)));
    const { limitsVersion, budgets, openBreakers, resumesAtMs, version } = this.#versioned(tenantId);
    if (version === haveVersion) return { kind: 'unchanged', nowMs: clock.now() };
    const inForce = (await rules.stored(tenantId)).filter((rule) => decides(rule, clock.now()));
    const endsAt = resumesAtMs === null ? {} : { endsAt: new Date(resumesAtMs).toISOString() };
    const book = { version, limitsVersion, rules: inForce, budgets, openBreakers, ...endsAt };
    const nowMs = clock.now();
    if (Buffer.byteLength(JSON.stringify(book)) > MAX_BOOK_BYTES) return { kind: 'too_large', nowMs };
    return { kind: 'book', nowMs, book };
  }

  /** Everything except the rules. Hashed again only after a part of it was reloaded. */
  #versioned(tenantId: string): Versioned {
    const { rules, limits, budgets: charged, open } = this.#parts;
    const decisive = rules.decisionMarks(tenantId);
    const parts = [decisive, limits.of(tenantId), charged.of(tenantId), open.of(tenantId)];
    const known = this.#known.get(tenantId);
    if (known?.parts.every((part, at) => part === parts[at])) return known;
    const { marks, resumesAtMs } = decisive;
    const limitsVersion = hashOf(plain(limits.of(tenantId)));
    const budgets = (charged.of(tenantId) ?? []).map(({ enabled, scope, scopeId }) => ({
      ...{ enabled, scope },
      ...(scopeId === undefined ? {} : { scopeId }),
    }));
    const openBreakers = [...(open.of(tenantId)?.keys() ?? [])].sort();
    const version = hashOf([marks, limitsVersion, budgets, openBreakers, resumesAtMs]);
    const made = { parts, limitsVersion, budgets, openBreakers, resumesAtMs, version };
    this.#known.set(tenantId, made);
    return made;
  }
}

function decides(rule: GuardrailRule, nowMs: number): boolean {
  if (!isInForce(rule, nowMs)) return false;
  const active = activate(rule);
  return active.ok && active.value.cadence === 'call';
}

function plain(limits: TenantLimits | undefined): unknown {
  if (limits === undefined) return null;
  const { tenant = null, tree = null, agents, runs, defaultBreaker = null } = limits;
  return { tenant, tree, agents: Object.fromEntries(agents), runs: Object.fromEntries(runs), defaultBreaker };
}

function hashOf(value: unknown): string {
  return sha256Hex(canonicalJson(value));
}
