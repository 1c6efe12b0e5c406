import { DECISION_PHASES, type DecisionPhase, type DecisionRequest } from '@agentlens/contracts';
import { foldedName, foldedNames } from '../patterns/names.ts';
import type { ActiveRule } from '../rules/active-rule.ts';
import { byPriority, type DecisionRule } from './decision-rule.ts';
import { type FoldedTool, ToolIndex } from './tool-index.ts';

/** Lookup key; a `DecisionRequest` contains all of it. */
type RuleQuestion = Pick<DecisionRequest, 'tenantId' | 'agentId' | 'phase' | 'tool'>;

interface PhaseRules {
  readonly everyAgent: ToolIndex<DecisionRule>;
  readonly byAgent: ReadonlyMap<string, ToolIndex<DecisionRule>>;
}

interface TenantRules {
  readonly byPhase: ReadonlyMap<DecisionPhase, PhaseRules>;
  /** Rules whose conditions count calls, also calls they do not apply to. By agent; undefined is every agent. */
  readonly counting: ReadonlyMap<string | undefined, readonly DecisionRule[]>;
  readonly asksPeople: boolean;
  readonly count: number;
}

const NONE: readonly DecisionRule[] = [];

/**
 * Decision rules of all tenants, indexed by tenant, phase, agent and tool, so that the cost of finding the rules for a
 * call does not depend on rules that cannot match. Immutable; one tenant is replaced at a time.
 */
export class DecisionBook {
  static readonly EMPTY = new DecisionBook(new Map());
  readonly #tenants: ReadonlyMap<string, TenantRules>;

  private constructor(tenants: ReadonlyMap<string, TenantRules>) {
    this.#tenants = tenants;
  }

  /** Returns a book in which the decision rules among `rules` replace those of the tenant. */
  withTenant(tenantId: string, rules: readonly ActiveRule[]): DecisionBook {
    return this.withTenants(new Map([[tenantId, rules]]));
  }

  withTenants(replaced: ReadonlyMap<string, readonly ActiveRule[]>): DecisionBook {
    const tenants = new Map(this.#tenants);
    for (const [tenantId, rules] of replaced) {
      const deciding = rules.filter((rule) => rule.cadence === 'call');
      if (deciding.length === 0) tenants.delete(tenantId);
      else tenants.set(tenantId, index(deciding));
    }
    return new DecisionBook(tenants);
  }

  /**
   * Returns the rules to evaluate for a call, highest priority first. `decide` applies selectors on agent slugs and
   * tags.
   */
  matching({ tenantId, agentId, phase, tool }: RuleQuestion): readonly DecisionRule[] {
    const rules = this.#tenants.get(tenantId)?.byPhase.get(phase);
    if (rules === undefined) return NONE;
    const folded = foldedTool(tool);
    const own = rules.byAgent.get(agentId)?.selecting(folded) ?? [];
    return [...own, ...rules.everyAgent.selecting(folded)].sort(byPriority);
  }

  /** Returns the rules that count a call. Pass them to `factsNeeded` with it. The answer of a model is no other call. */
  counting(question: RuleQuestion): readonly DecisionRule[] {
    if (question.phase === 'llm.after') return NONE;
    const counting = this.#tenants.get(question.tenantId)?.counting;
    if (counting === undefined || counting.size === 0) return NONE;
    const rules = [...(counting.get(question.agentId) ?? NONE), ...(counting.get(undefined) ?? NONE)];
    return rules.filter((rule) => rule.countsCall(question));
  }

  /** Returns true if calls of the tenant may need an approval. */
  asksPeople(tenantId: string): boolean {
    return this.#tenants.get(tenantId)?.asksPeople ?? false;
  }

  /** Number of rules in the book. */
  get size(): number {
    return [...this.#tenants.values()].reduce((sum, tenant) => sum + tenant.count, 0);
  }
}

function foldedTool(tool: DecisionRequest['tool']): FoldedTool {
  return { name: tool && foldedName(tool.name), tags: tool === undefined ? [] : foldedNames(tool.tags) };
}

function index(rules: readonly DecisionRule[]): TenantRules {
  const byPhase = new Map<DecisionPhase, PhaseRules>();
  for (const phase of DECISION_PHASES) {
    const asked = rules.filter((rule) => rule.phases.includes(phase));
    if (asked.length > 0) byPhase.set(phase, phaseRulesOf(asked));
  }
  const counting = Map.groupBy(
    rules.filter((rule) => rule.counts),
    ({ agentId, countsEveryAgent }) => (countsEveryAgent ? undefined : agentId),
  );
  return { byPhase, counting, asksPeople: rules.some((rule) => rule.asksPeople), count: rules.length };
}

function phaseRulesOf(rules: readonly DecisionRule[]): PhaseRules {
  const { own = [], every = [] } = Object.groupBy(rules, ({ agentId }) => (agentId === undefined ? 'every' : 'own'));
  const byAgent = Map.groupBy(own, ({ agentId }) => agentId ?? '');
  return {
    everyAgent: new ToolIndex(every),
    byAgent: new Map([...byAgent].map(([agentId, its]) => [agentId, new ToolIndex(its)])),
  };
}
