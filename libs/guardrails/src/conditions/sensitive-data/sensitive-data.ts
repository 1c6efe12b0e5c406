import { z } from 'zod';
import type { CallCondition } from '../../catalog/condition-module.ts';
import { DETECTOR_NAMES, type DetectorName, detect, LONGEST_TEXT } from '../../detectors/detectors.ts';
import { DotPath, textsIn, valueAt } from '../../patterns/dot-path.ts';
import { unpacked } from '../../patterns/json-text.ts';

const text = z.string().min(1).max(256);

const Detection = z
  .strictObject({
    detector: z.enum(DETECTOR_NAMES).meta({ title: 'Look for' }),
    check: z.enum(['domain', 'tld', 'scheme']).optional().meta({ title: 'Whose' }),
    operator: z.enum(['eq', 'neq', 'endsWith', 'in']).optional().meta({ title: 'Is' }),
    value: z
      .union([text, z.array(text).min(1).max(200)], { error: 'must be a string, or a list of strings' })
      .optional()
      .meta({ title: 'Compared with' }),
  })
  .check(({ value: { detector, check, operator, value }, issues }) => {
    const problem = (path: string, message: string) =>
      issues.push({ code: 'custom', path: [path], message, input: detector });
    const given = [check, operator, value].filter((one) => one !== undefined).length;
    if (given > 0 && given < 3) problem('check', 'goes together with "operator" and "value"');
    if (given < 3 || check === undefined) return;
    if (!partOf(detector).includes(check)) problem('check', `a ${detector} has no ${check}`);
    if ((operator === 'in') !== Array.isArray(value)) {
      problem('value', 'must be a list with operator "in", and one text with every other');
    }
  });

const SensitiveDataConfig = z.strictObject({
  in: z.enum(['arguments', 'result']).default('arguments').meta({ title: 'Look in' }),
  path: DotPath.optional().meta({ title: 'At', description: 'Dot path. Everything below it is searched.' }),
  operator: z.enum(['anyOf', 'allOf']).default('anyOf').meta({ title: 'Found is' }),
  detectors: z.array(Detection).min(1).max(50).meta({ title: 'Detectors' }),
});
type SensitiveDataConfig = z.infer<typeof SensitiveDataConfig>;

/** Personal data and secrets in the arguments or the result of a call. */
export const sensitiveData: CallCondition<SensitiveDataConfig> = {
  type: 'sensitive_data',
  title: 'Sensitive data',
  description: 'The arguments or the result of the call contain personal data or secrets.',
  unit: '',
  cadence: 'call',
  config: SensitiveDataConfig,
  example: { in: 'arguments', operator: 'anyOf', detectors: [{ detector: 'credit_card' }] },
  phases: ['decision'],
  askedIn: ['tool.before', 'tool.after', 'llm.before'],
  ready({ in: place, path, operator, detectors }) {
    const tests = detectors.map(findingTest);
    return {
      reads: [place === 'arguments' ? 'args' : 'result'],
      certain: 'yes',
      matches({ request }) {
        const root = unpacked(place === 'arguments' ? request.args : request.result);
        const looked = path === undefined ? root : valueAt(root, path);
        if (looked === undefined) return 'missing';
        const { texts, whole } = textsIn(looked);
        const found = (test: (one: string) => boolean) => texts.some(test);
        if (operator === 'anyOf' ? tests.some(found) : tests.every(found)) return true;
        return whole && texts.every(({ length }) => length <= LONGEST_TEXT) ? false : 'missing';
      },
    };
  },
};

type Part = 'domain' | 'tld' | 'scheme';

interface DetectionTest {
  readonly detector: DetectorName;
  readonly check?: Part | undefined;
  readonly operator?: 'eq' | 'neq' | 'endsWith' | 'in' | undefined;
  readonly value?: string | string[] | undefined;
}

/** Parts that a match of a detector can be tested by. */
function partOf(detector: DetectorName): readonly Part[] {
  if (detector === 'url') return ['domain', 'tld', 'scheme'];
  return detector === 'email' || detector === 'email_domain' ? ['domain', 'tld'] : [];
}

/**
 * Returns a test that is true if a text has a match of the detector and, if `check` is set, a match whose part passes
 * the comparison.
 */
function findingTest({ detector, check, operator, value }: DetectionTest): (text: string) => boolean {
  if (check === undefined) return (text) => detect(detector, text).length > 0;
  const wanted = [value ?? []].flat().map((one) => one.toLowerCase());
  return (text) =>
    detect(detector, text).some((found) => {
      const part = read(detector, check, found.text);
      if (part === undefined) return false;
      if (operator === 'neq') return !wanted.includes(part);
      return operator === 'endsWith' ? wanted.some((end) => part.endsWith(end)) : wanted.includes(part);
    });
}

function read(detector: DetectorName, part: Part, text: string): string | undefined {
  if (part === 'scheme') return text.slice(0, text.indexOf(':')).toLowerCase();
  const domain = detector === 'url' ? hostOf(text) : text.slice(text.lastIndexOf('@') + 1).toLowerCase();
  return part === 'tld' ? domain?.slice(domain.lastIndexOf('.') + 1) : domain;
}

function hostOf(address: string): string | undefined {
  return URL.canParse(address) ? new URL(address).hostname.toLowerCase() : undefined;
}
