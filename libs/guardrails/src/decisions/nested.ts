import { JsonObject, unknownName } from '@agentlens/contracts';
import { z } from 'zod';
import type { Catalog } from '../catalog/catalog.ts';
import type { CallMeasurement, CallTest, ConditionModule, DataFlow } from '../catalog/condition-module.ts';
import { problemsOf } from '../rules/problems.ts';
import type { DecisionAnswer } from './answer.ts';
import { callTest } from './call-test.ts';
import type { CallFacts, ConditionNeeds } from './facts.ts';

/** The catalog, resolved lazily because conditions that nest others are themselves in it. */
export type CatalogSoFar = () => Catalog<ConditionModule>;

/** A nested condition, `{ type, config }`, validated like a rule's own. */
export function nestedCondition(catalog: CatalogSoFar) {
  return z
    .strictObject({
      type: z.string().min(1).meta({ title: 'Condition' }),
      config: JsonObject.default({}).meta({ title: 'Its config' }),
    })
    .transform((nested, context) => {
      const { modules } = catalog();
      const module = catalog().get(nested.type);
      if (module?.phases.includes('decision')) {
        const config = module.config.safeParse(nested.config);
        if (config.success) return { type: nested.type, config: config.data as JsonObject };
        for (const { path, message } of problemsOf(module.config, config.error, ['config'])) {
          context.issues.push({ code: 'custom', path: path.split('.'), message, input: nested });
        }
        return z.NEVER;
      }
      const known = modules.filter(({ phases }) => phases.includes('decision')).map(({ type }) => type);
      const message =
        module === undefined ? unknownName('condition type', nested.type, known) : 'cannot be asked about a call';
      context.issues.push({ code: 'custom', path: ['type'], message, input: nested });
      return z.NEVER;
    });
}
export type Nested = z.infer<ReturnType<typeof nestedCondition>>;

/** Combines the tests of nested conditions with `combine`. Needs the facts of all of them. */
export function combined(
  catalog: CatalogSoFar,
  nested: readonly Nested[],
  combine: (answers: DecisionAnswer[]) => DecisionAnswer,
): CallTest {
  const tests = nested.map(({ type, config }) => readied(catalog, type, config));
  return {
    reads: [...new Set(tests.flatMap(({ reads }) => reads))],
    certain: 'always',
    ...(tests.some((test) => test.countsCall !== undefined)
      ? { countsCall: (call) => tests.some((test) => test.countsCall?.(call) === true) }
      : {}),
    countsEveryAgent: tests.some(({ countsEveryAgent }) => countsEveryAgent === true),
    feeds: tests.flatMap(({ feeds }) => feeds ?? []),
    needs(request) {
      const needs = tests.map((test) => test.needs?.(request) ?? {});
      return {
        history: needs.some(({ history }) => history === true),
        histories: needs.flatMap(({ histories }) => histories ?? []),
        series: needs.flatMap(({ series }) => series ?? []),
        additions: needs.flatMap(({ additions }) => additions ?? []),
        ...labelsOf(needs),
      };
    },
    matches: (facts: CallFacts) => combine(tests.map((test) => test.matches(facts))),
    ...(tests.some((test) => test.measured !== undefined) ? { measured: (facts) => firstMeasured(tests, facts) } : {}),
    ...(tests.some((test) => test.flow !== undefined) ? { flow: (facts) => firstFlow(tests, facts) } : {}),
  };
}

/** Returns the measurement of the first nested condition that matched and measures something. */
function firstMeasured(tests: readonly CallTest[], facts: CallFacts): CallMeasurement | null {
  for (const test of tests) {
    const measured = test.measured !== undefined && test.matches(facts) === true ? test.measured(facts) : null;
    if (measured !== null) return measured;
  }
  return null;
}

function firstFlow(tests: readonly CallTest[], facts: CallFacts): DataFlow | null {
  for (const test of tests) {
    const flow = test.flow !== undefined && test.matches(facts) === true ? test.flow(facts) : null;
    if (flow !== null) return flow;
  }
  return null;
}

function labelsOf(needs: readonly ConditionNeeds[]): Pick<ConditionNeeds, 'labels'> {
  const labels = needs.flatMap((need) => need.labels ?? []);
  if (labels.length === 0) return {};
  return {
    labels: {
      reads: labels.some(({ reads }) => reads === true),
      readsSession: labels.some(({ readsSession }) => readsSession === true),
      sets: labels.flatMap(({ sets }) => sets ?? []),
      setsIfDenied: labels.flatMap(({ setsIfDenied }) => setsIfDenied ?? []),
      compares: labels.flatMap(({ compares }) => compares ?? []),
      prints: labels.flatMap(({ prints }) => prints ?? []),
      clears: labels.flatMap(({ clears }) => clears ?? []),
    },
  };
}

function readied(catalog: CatalogSoFar, type: string, config: JsonObject): CallTest {
  const module = catalog().get(type);
  const parsed = module?.config.parse(config);
  const test = module === undefined ? null : callTest(module, parsed);
  if (test === null) throw new Error(`condition ${type} cannot be asked about a call`);
  return test;
}
