import type { GuardrailRule } from '@agentlens/contracts';
import type { RuleFigures } from '@agentlens/guardrails';
import type { RecordedVersion, RuleRevision, RuleStore, TenantRules } from './rule-transaction.ts';

/** In-memory tables of rules and their versions, as far as the writers use them. */
export class MemoryRules implements RuleStore {
  readonly rows = new Map<string, GuardrailRule>();
  readonly revisions: RuleRevision[] = [];
  figures: RuleFigures = {
    ...{ asked: 0, enforced: 0, stopped: 0, wouldStop: 0, bypassed: 0, judged: 0, harmless: 0, sinceMs: 0 },
  };

  change<T>(tenantId: string, work: (rules: TenantRules) => Promise<T>): Promise<T> {
    const own = () => this.revisions.filter(({ rule }) => rule.tenantId === tenantId);
    return work({
      all: async () => [...this.rows.values()].filter((rule) => rule.tenantId === tenantId),
      find: async (ruleId) => this.rows.get(`${tenantId} ${ruleId}`) ?? null,
      findVersion: async (ruleId, version) =>
        own().find(({ rule }) => rule.id === ruleId && rule.version === version)?.rule ?? null,
      changesSince: async (versions) =>
        own()
          .filter(({ rule }) => rule.version > (versions.get(rule.id) ?? Number.POSITIVE_INFINITY))
          .map(recorded),
      figures: async () => this.figures,
      lastOfKeys: async (keys) =>
        new Map(
          own().flatMap((one) =>
            keys.includes(one.rule.key ?? '') ? [[one.rule.key ?? '', recorded(one)] as const] : [],
          ),
        ),
      settle: async (ruleIds) => {
        for (const id of ruleIds) {
          const row = this.rows.get(`${tenantId} ${id}`);
          if (row !== undefined) this.rows.set(`${tenantId} ${id}`, { ...row, appliedVersion: row.version });
        }
      },
      store: async (revisions) => {
        this.revisions.push(...revisions);
        for (const { rule, deleted } of revisions) {
          if (deleted) this.rows.delete(`${tenantId} ${rule.id}`);
          else this.rows.set(`${tenantId} ${rule.id}`, rule);
        }
      },
    });
  }

  get first(): GuardrailRule {
    const [rule] = this.rows.values();
    if (rule === undefined) throw new Error('no rule was stored');
    return rule;
  }
}

function recorded({ rule, deleted, by, reason, changes }: RuleRevision): RecordedVersion {
  const { id: ruleId, version, updatedAt: changedAt } = rule;
  const author = { ...(by === undefined ? {} : { changedBy: by }), ...(reason === undefined ? {} : { reason }) };
  return { ruleId, deleted, drift: { version, changedAt, ...author, changes: [...changes] } };
}
