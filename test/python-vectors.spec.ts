import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BreakerLimits } from '@agentlens/contracts';
import { type CallUsage, CLOSED_BREAKER, check, type NextCall, record } from '@agentlens/guardrails/breaker';
import { redact } from '@agentlens/sdk';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

/**
 * The Python package has a breaker and detectors of its own. Both sides replay the committed vectors: here they are held
 * to the code they come from, in python/tests/unit/test_vectors.py the port is. After a change on purpose, write new ones:
 * WRITE_VECTORS=1 npm run test:unit -- test/python-vectors
 */
const folder = join(import.meta.dirname, '../python/vectors');
const WRITES = process.env.WRITE_VECTORS === '1';

type Step =
  | { readonly do: 'check'; readonly atMs: number; readonly next: NextCall }
  | { readonly do: 'record'; readonly atMs: number; readonly used: CallUsage };
interface BreakerCase {
  readonly limits: Partial<BreakerLimits>;
  readonly steps: readonly Step[];
  /** The answer of each check, and the breaker after the last step. */
  readonly expected?: { readonly answers: readonly unknown[]; readonly breaker: unknown };
}
interface RedactCase {
  /** In pieces, so that no scanner takes the file for a leak. */
  readonly text: readonly string[];
  readonly expected?: { readonly text: readonly string[]; readonly names: readonly string[] };
}

function committed<T>(file: string): readonly T[] {
  return JSON.parse(readFileSync(join(folder, file), 'utf8'));
}

function write(file: string, cases: readonly unknown[]): void {
  writeFileSync(join(folder, file), `[\n${cases.map((item) => `  ${JSON.stringify(item)}`).join(',\n')}\n]\n`);
}

function played({ limits, steps }: BreakerCase) {
  const all = BreakerLimits.parse(limits);
  let breaker = CLOSED_BREAKER;
  const answers: unknown[] = [];
  for (const step of steps) {
    if (step.do === 'record') breaker = record(breaker, step.used, step.atMs);
    else {
      const { breaker: after, ...answer } = check(breaker, all, step.atMs, step.next);
      breaker = after;
      answers.push(answer);
    }
  }
  return { answers, breaker };
}

const redacted = ({ text }: RedactCase) => {
  const { text: cleaned, findings } = redact(text.join(''));
  return { text: [cleaned], names: findings.map(({ name }) => name) };
};

const by = fc.option(fc.constantFrom('a', 'b', 'c'), { nil: undefined });
const amount = fc.constantFrom(0, 1, 2.5, 30, 70, -5);
const used = fc.record(
  {
    ...{ tokens: amount, iterations: fc.constantFrom(0, 1), costUsd: fc.constantFrom(0.1, 1, -3), by },
    ...{ outcome: fc.constantFrom('success' as const, 'failure' as const) },
    ...{ of: fc.constantFrom('llm' as const, 'tool' as const), confidence: fc.constantFrom(0.9, 0.7, 0.5, 0.2, 7) },
  },
  { requiredKeys: [] },
);
const next = fc.record({ iterations: fc.constantFrom(0, 1), tokens: amount, by }, { requiredKeys: [] });
const step = fc.oneof(
  fc.record({ do: fc.constant('check' as const), waits: fc.constantFrom(0, 500, 11_000), next }),
  fc.record({ do: fc.constant('record' as const), waits: fc.constantFrom(0, 500), used }),
);
const limits = fc.record(
  {
    ...{
      maxTokens: fc.constantFrom(50, 200),
      maxIterations: fc.constantFrom(2, 5),
      maxCostUsd: fc.constantFrom(0.5, 2),
    },
    ...{ maxConsecutiveFailures: fc.constantFrom(1, 3), maxConfidenceDrop: fc.constantFrom(null, 0.3) },
    ...{ confidenceWindow: fc.constantFrom(3, 5), probeAfterSeconds: fc.constantFrom(null, 10) },
  },
  { requiredKeys: [] },
);

function newBreakerCases(): BreakerCase[] {
  const samples = fc.sample(fc.tuple(limits, fc.array(step, { minLength: 4, maxLength: 25 })), 120);
  return samples.map(([its, script]) => {
    let atMs = 1_767_225_600_000;
    const steps = script.map(({ waits, ...rest }) => {
      atMs += waits;
      return { ...rest, atMs } as Step;
    });
    // JSON has no undefined: what is left out there is left out here.
    const made: BreakerCase = JSON.parse(JSON.stringify({ limits: its, steps }));
    return { ...made, expected: played(made) };
  });
}

const KEY_STARTS = [
  'sk-proj-',
  'sk-ant-',
  'ghp_',
  'AKIA',
  'AIza',
  'xoxb-',
  'sk_live_',
  'npm_',
  'hf_',
  'agk_live_',
  'als_',
];

function newRedactCases(): RedactCase[] {
  const piece = fc.oneof(
    fc.constantFrom(
      ...KEY_STARTS,
      'eyJ',
      '.eyJ',
      '.',
      '@',
      '-----BEGIN RSA ',
      'PRIVATE KEY-----',
      ' ',
      '\n',
      'é',
      '😀',
    ),
    fc.constantFrom('jo.doe+x', 'example.co.uk', '+49 170 1234567', '(555) 123-4567', '555-123-4567', '+1 '),
    fc.constantFrom('4111 1111 1111 1111', '4111 1111 1111 1112', '378282246310005', 'DE89 3704 0044 0532 0130 00'),
    fc.constantFrom('GB82WEST12345698765432', '12345678', 'abcdefgh'.repeat(5), 'aB3'.repeat(12), '0f'.repeat(16)),
    fc.constantFrom('٤٥٦', 'ABCD1234ABCD1234', '_', '-', 'x', '1', ', ', '<', '>', 'a1b2c3d4_'),
  );
  const samples = fc.sample(fc.array(piece, { minLength: 1, maxLength: 9 }), 400);
  return samples.map((text) => ({ text, expected: redacted({ text }) }));
}

describe('the vectors of the Python package', () => {
  if (WRITES) {
    write('breaker.json', newBreakerCases());
    write('redact.json', newRedactCases());
  }

  it('say of breakers what the breaker does', () => {
    const cases = committed<BreakerCase>('breaker.json');
    expect(cases.length).toBeGreaterThan(100);
    for (const item of cases) expect(JSON.parse(JSON.stringify(played(item)))).toEqual(item.expected);
  });

  it('say of texts what redaction does', () => {
    const cases = committed<RedactCase>('redact.json');
    expect(cases.length).toBeGreaterThan(300);
    expect(cases.filter(({ expected }) => expected?.names.length !== 0).length).toBeGreaterThan(100);
    for (const item of cases) {
      const { text, names } = redacted(item);
      expect({ text: text.join(''), names }).toEqual({
        text: item.expected?.text.join(''),
        names: item.expected?.names,
      });
    }
  });
});
