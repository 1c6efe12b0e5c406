import { ClientId, DECISION_EFFECTS, DECISION_PHASES, JsonObject, RuleKey, SEVERITIES } from '@agentlens/contracts';
import { z } from 'zod';
import { type SourceFile, type SourceProblem, YamlSource } from './yaml-source.ts';

const UNITS_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** `2s`, `5m`, `1h`: time since the previous entry. */
const After = z
  .string('must be a duration like 2s, 5m or 1h')
  .regex(/^\d{1,6}(ms|s|m|h|d)$/, 'must be a duration like 2s, 5m or 1h')
  .transform((text) => {
    const unit = /[a-z]+$/.exec(text)?.[0] as keyof typeof UNITS_MS;
    return Number.parseInt(text, 10) * UNITS_MS[unit];
  })
  .optional();

const texts = z.record(z.string(), z.string());

const ExpectedAnswer = z
  .strictObject({
    effect: z.enum(DECISION_EFFECTS).optional(),
    /** Effect if shadow rules were enforced. */
    wouldBe: z.enum(DECISION_EFFECTS).optional(),
    /** Key of the rule that decided. */
    rule: RuleKey.optional(),
    message: z.string().optional(),
    /** Replacement arguments. */
    args: z.unknown().optional(),
  })
  .refine(({ effect, wouldBe }) => effect !== undefined || wouldBe !== undefined, {
    path: ['effect'],
    message: `is required, one of ${DECISION_EFFECTS.join(', ')}; or expect "wouldBe"`,
  });
export type ExpectedAnswer = z.infer<typeof ExpectedAnswer>;

const TestCall = z.strictObject({
  after: After,
  agent: ClientId.default('agent'),
  run: ClientId.default('run'),
  /** The run that started `run`. The first call of a run that names it decides. */
  parent: ClientId.optional(),
  phase: z.enum(DECISION_PHASES).default('tool.before'),
  tool: z.string().min(1).max(256).optional(),
  toolTags: z.array(z.string()).max(100).default([]),
  /** The same id means the same call: its end, or a repeated question. */
  callId: ClientId.optional(),
  args: z.unknown().optional(),
  result: z.unknown().optional(),
  actor: ClientId.optional(),
  actorTags: texts.default({}),
  agentTags: z.array(z.string()).optional(),
  tags: texts.default({}),
  metrics: z.record(z.string(), z.number()).default({}),
  /** Keys of rules for which a person has approved the call. */
  approved: z.array(RuleKey).default([]),
  /** True if the approval that the call needs is denied. */
  denied: z.boolean().default(false),
  expect: ExpectedAnswer.optional(),
});
export type TestCall = z.output<typeof TestCall>;

const TestEvent = z.strictObject({
  after: After,
  /** Number of such events, each `after` the previous one. */
  repeat: z.int().min(1).max(10_000).default(1),
  agent: ClientId.default('agent'),
  run: ClientId.default('run'),
  /** An event type of `POST /api/events`. */
  type: z.string().min(1),
  payload: JsonObject.default({}),
  severity: z.enum(SEVERITIES).optional(),
  tags: z.array(z.string()).optional(),
  metadata: JsonObject.optional(),
});
export type TestEvent = z.output<typeof TestEvent>;

const ExpectedTrigger = z.strictObject({
  rule: RuleKey,
  agent: ClientId.optional(),
  value: z.number().optional(),
  /** 1-based index of the event that caused it, over all events of the test. */
  event: z.int().min(1).optional(),
  dryRun: z.boolean().optional(),
});
export type ExpectedTrigger = z.infer<typeof ExpectedTrigger>;

const RuleTest = z
  .strictObject({
    name: z.string().min(1),
    /** Start time. */
    at: z.iso
      .datetime({ offset: true, error: 'must be a time like 2026-03-01T12:00:00Z' })
      .default('2026-01-05T12:00:00Z'),
    /** Events in order, before any call. */
    events: z.array(TestEvent).max(10_000).default([]),
    calls: z.array(TestCall).max(10_000).default([]),
    /** All triggers, in the order in which they fired. */
    expect: z.strictObject({ triggers: z.array(ExpectedTrigger) }).optional(),
  })
  .refine(({ calls, expect }) => expect !== undefined || calls.some((call) => call.expect !== undefined), {
    message: 'expects nothing, so it cannot fail: add "expect" to the test or to one of its calls',
  });
export type RuleTest = z.output<typeof RuleTest>;

const TestFile = z.strictObject({
  /** Rule files, relative to this file. */
  rules: z.union([
    z
      .string()
      .min(1)
      .transform((file) => [file]),
    z.array(z.string().min(1)).min(1),
  ]),
  tests: z.array(RuleTest).min(1, 'must contain at least one test'),
});

const KNOWN = {
  file: Object.keys(TestFile.shape),
  test: ['name', 'at', 'events', 'calls', 'expect'],
  call: Object.keys(TestCall.shape),
  event: Object.keys(TestEvent.shape),
  answer: Object.keys(ExpectedAnswer.shape),
};

/** A test and its position. */
export interface PlacedTest {
  readonly test: RuleTest;
  readonly file: string;
  readonly line: number;
  /** Line of a value inside the test. */
  lineOf(path: readonly PropertyKey[]): number;
}

interface ReadTests {
  /** As written, relative to the test file. */
  readonly rules: readonly string[];
  readonly tests: readonly PlacedTest[];
  readonly problems: readonly SourceProblem[];
}

export function readTestFile(sourceFile: SourceFile): ReadTests {
  const source = new YamlSource(sourceFile);
  if (source.problems.length > 0) return { rules: [], tests: [], problems: source.problems };
  const read = TestFile.safeParse(source.value);
  if (!read.success) {
    const known = [...new Set(Object.values(KNOWN).flat())];
    return { rules: [], tests: [], problems: source.schemaProblems(read.error, known) };
  }
  const tests = read.data.tests.map((test, at) => ({
    ...{ test, file: source.file, line: source.lineOf(['tests', at]) },
    lineOf: (path: readonly PropertyKey[]) => source.lineOf(['tests', at, ...path]),
  }));
  return { rules: read.data.rules, tests, problems: [] };
}
