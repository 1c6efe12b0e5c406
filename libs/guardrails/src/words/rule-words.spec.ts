import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ACTIONS } from '../actions/index.ts';
import { jsonSchemaOf } from '../catalog/catalog.ts';
import type { ConditionModule } from '../catalog/condition-module.ts';
import { CONDITIONS } from '../conditions/index.ts';
import { askableIn, phasesOf } from '../decisions/selectors.ts';
import { CHOICE_WORDS, number } from './choice-words.ts';
import { conditionWords, hasConditionWords } from './condition-words.ts';
import {
  defaultPhase,
  hasActionWords,
  type RuleParts,
  rulePartsInWords,
  ruleWords,
  type WordedRule,
} from './rule-words.ts';

interface Schema {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly minimum?: number;
  readonly maximum?: number;
}
type Config = Record<string, unknown>;

/** Values that a plain text cannot stand for. */
const BY_NAME: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  start: fc.constantFrom('09:30', '18:00'),
  end: fc.constantFrom('06:00', '24:00'),
  timeZone: fc.constantFrom('Europe/Berlin', 'Asia/Kolkata'),
  expression: fc.constantFrom('args.amount > 1000', 'tool.name == "transfer"'),
};
const text = fc.stringMatching(/^[a-z][a-z0-9_]{2,8}[a-z0-9]$/);
const nestedCondition = fc.constantFrom(
  { type: 'tool_name', config: { operator: 'eq', value: 'deploy' } },
  { type: 'any', config: { conditions: [{ type: 'tool_tag', config: { tags: ['payment'] } }] } },
);

/** Draws configs from a JSON Schema of the catalog. */
function drawn(schema: Schema, name = ''): fc.Arbitrary<unknown> {
  const special = BY_NAME[name];
  if (special !== undefined) return special;
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (schema.anyOf !== undefined) return fc.oneof(...schema.anyOf.map((one) => drawn(one)));
  if (schema.type === 'array') return fc.uniqueArray(drawn(schema.items ?? {}), { minLength: 1, maxLength: 3 });
  if (schema.properties !== undefined && 'config' in schema.properties) return nestedCondition;
  if (schema.properties !== undefined) {
    const members = Object.entries(schema.properties).map(([key, one]) => [key, drawn(one, key)] as const);
    return fc.record(Object.fromEntries(members), { requiredKeys: [...(schema.required ?? [])] });
  }
  if (schema.type === 'boolean') return fc.boolean();
  if (schema.type === 'integer' || schema.type === 'number')
    return fc.integer({ min: Math.max(2, schema.minimum ?? 2), max: Math.min(5_000_000, schema.maximum ?? 5_000_000) });
  return text;
}

function configsOf(module: Pick<ConditionModule, 'config'>): fc.Arbitrary<Config> {
  const schema = jsonSchemaOf(module.config) as Schema;
  return (drawn(schema) as fc.Arbitrary<Config>).filter((config) => module.config.safeParse(config).success);
}

/** Texts and numbers in a config; choices have words of their own. */
function leaves(config: unknown): string[] {
  if (typeof config === 'number') return [number(config)];
  if (typeof config === 'string') return Object.hasOwn(CHOICE_WORDS, config) ? [] : [config];
  if (typeof config !== 'object' || config === null) return [];
  return Object.entries(config).flatMap(([key, one]) => (key === 'type' ? [] : leaves(one)));
}

const aRule = (over: Partial<WordedRule>): WordedRule => ({
  ...{ conditionType: 'tool_name', conditionConfig: { value: 'pay_*' }, actionType: 'block', actionConfig: {} },
  ...over,
});

describe('words of a condition', () => {
  it.each(CONDITIONS.modules.map((module) => [module.type, module] as const))(
    'name every value of %s and show no JSON',
    (type, module) => {
      expect(hasConditionWords(type)).toBe(true);
      fc.assert(
        fc.property(configsOf(module), (config) => {
          const words = conditionWords({ type, config });
          expect(words).not.toMatch(/[{}[\]]|undefined|null|\bobject\b/);
          for (const leaf of leaves(config)) expect(words).toContain(leaf);
        }),
        { numRuns: 60 },
      );
    },
  );

  it.each(CONDITIONS.modules.map((module) => [module.type, module] as const))(
    'differ for %s if its meaning differs',
    (type, module) => {
      const words = (config: Config) => conditionWords({ type, config });
      const meaning = (config: Config) => {
        const { scope, ...rest } = module.config.parse(config) as Config;
        // Rules that are older than the scope of calls have none.
        return JSON.stringify({ ...rest, scope: scope ?? 'run' });
      };
      fc.assert(
        fc.property(configsOf(module), configsOf(module), (one, other) => {
          if (words(one) === words(other)) expect(meaning(one)).toBe(meaning(other));
          expect(words(one)).toBe(words(module.config.parse(one) as Config));
        }),
        { numRuns: 60 },
      );
    },
  );

  it('has words for every choice of the catalog', () => {
    const choices = (schema: Schema): string[] => [
      ...(schema.enum ?? []),
      ...Object.values(schema.properties ?? {}).flatMap(choices),
      ...(schema.items === undefined ? [] : choices(schema.items)),
      ...(schema.anyOf ?? []).flatMap(choices),
    ];
    const all = [...CONDITIONS.modules, ...ACTIONS.modules].flatMap(({ config }) =>
      choices(jsonSchemaOf(config) as Schema),
    );
    expect([...new Set(all)].filter((one) => !Object.hasOwn(CHOICE_WORDS, one))).toEqual([]);
  });

  it.each([
    ['tool_argument', { path: 'amount', type: 'number', operator: 'gt', value: 1000 }, 'amount is more than 1,000'],
    ['tool_argument', { path: 'to', operator: 'endsWith', value: '@a.example' }, 'to ends with “@a.example”'],
    ['cost_limit', { maxCostUsd: 5, scope: 'session' }, 'the cost of a run is at least $5'],
    [
      'all',
      {
        conditions: [
          { type: 'tool_tag', config: { tags: ['payment'] } },
          {
            type: 'any',
            config: {
              conditions: [
                { type: 'tool_name', config: { value: 'a*' } },
                { type: 'tool_name', config: { value: 'b*' } },
              ],
            },
          },
        ],
      },
      'the tool has the tag payment and (the name of the tool looks like a* or the name of the tool looks like b*)',
    ],
  ])('says %s %j as a clause', (type, config, words) => expect(conditionWords({ type, config })).toBe(words));

  it('names a condition that it does not know', () => {
    expect(conditionWords({ type: 'moon_phase', config: {} })).toBe('the condition moon phase matches');
  });
});

describe('words of a rule', () => {
  it('is one sentence', () => {
    const rule = aRule({
      conditionType: 'tool_argument',
      conditionConfig: { path: 'amount', type: 'number', operator: 'gt', value: 1000 },
      selector: { tools: ['send_email', 'pay_*'], agentTagsAny: ['prod'] },
      onMissing: 'block',
    });
    expect(ruleWords(rule)).toBe(
      'Block calls of send_email or pay_* when amount is more than 1,000, for agents tagged prod; ' +
        'if a value is missing: block; if it cannot be evaluated in time: let it pass.',
    );
  });

  it.each(ACTIONS.modules.map((module) => [module.type, module] as const))(
    'names every value of the action %s but its secrets',
    (type, module) => {
      expect(hasActionWords(type)).toBe(true);
      const config = module.example as Config;
      const said = (actionConfig: Config) => ruleWords(aRule({ actionType: type, actionConfig }));
      const { expiresInSeconds: _, ...rest } = config;
      for (const leaf of leaves(rest)) expect(said(config)).toContain(leaf);
      for (const secret of module.secrets) expect(said({ ...config, [secret]: 's3cr3t' })).not.toContain('s3cr3t');
    },
  );

  it('does not say that a rule without a cooldown rests for no time', () => {
    const alert = {
      conditionType: 'tool_name',
      conditionConfig: { operator: 'eq', value: 'x' },
      actionType: 'raise_alert',
    };
    const words = (cooldownMinutes: number) => ruleWords({ ...alert, actionConfig: {}, cooldownMinutes });
    expect(words(0)).toMatch(/; each time\.$/);
    expect(words(5)).toMatch(/; at most once in 5 minutes\.$/);
  });

  it('says deadlines in minutes if they are whole', () => {
    const deadline = (expiresInSeconds: number) =>
      rulePartsInWords(aRule({ actionType: 'require_approval', actionConfig: { expiresInSeconds } })).details;
    expect([900, 90, 60].map(deadline)).toEqual([
      'denied after 15 minutes',
      'denied after 90 seconds',
      'denied after 1 minute',
    ]);
  });

  it.each<[keyof RuleParts, Partial<WordedRule>]>([
    ['action', { toolNames: ['a'] }],
    ['action', { selector: { toolTagsAll: ['a'] } }],
    ['action', { selector: { phases: ['llm.before'] } }],
    ['agents', { agentId: 'a' }],
    ['agents', { selector: { agentSlugsAny: ['a'] } }],
    ['agents', { selector: { agentTagsAll: ['a'] } }],
    ['fallback', { onMissing: 'block' }],
    ['fallback', { onUnavailable: 'block' }],
  ])('changes its part "%s" with %j', (part, over) => {
    expect(rulePartsInWords(aRule(over))[part]).not.toBe(rulePartsInWords(aRule({}))[part]);
  });

  it.each(CONDITIONS.modules.map((module) => [module.type, module] as const))(
    'assumes the phase that the evaluator assumes for %s',
    (type, module) => {
      expect(phasesOf({}, module)).toContain(defaultPhase(type));
      expect(askableIn(module)).toContain(defaultPhase(type));
    },
  );
});
