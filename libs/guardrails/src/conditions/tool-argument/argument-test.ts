import { compareExactly, type ExactNumber, exactNumber } from '../../patterns/exact-number.ts';
import { globMatchesFolded } from '../../patterns/names.ts';
import { compilePattern, patternProblem } from '../../patterns/pattern.ts';

const TEXT_OPERATORS = ['eq', 'neq', 'contains', 'startsWith', 'endsWith', 'glob', 'in', 'regex'] as const;
const NUMBER_OPERATORS = ['eq', 'neq', 'gt', 'gte', 'lt', 'lte'] as const;
export const OPERATORS = [...TEXT_OPERATORS, 'gt', 'gte', 'lt', 'lte', 'exists', 'notExists'] as const;

export interface ArgumentTest {
  readonly path?: string | undefined;
  readonly type: 'string' | 'number' | 'boolean';
  readonly operator: (typeof OPERATORS)[number];
  readonly value?: string | number | boolean | string[] | undefined;
}

interface ArgumentProblem {
  readonly path: string[];
  readonly message: string;
}

const FITTING: Readonly<Record<ArgumentTest['type'], readonly string[]>> = {
  string: TEXT_OPERATORS,
  number: NUMBER_OPERATORS,
  boolean: ['eq', 'neq'],
};

/** Returns the inconsistency in a test, or null if there is none. */
export function argumentProblem({ path, type, operator, value }: ArgumentTest): ArgumentProblem | null {
  if (operator === 'exists' || operator === 'notExists') {
    if (path === undefined) return { path: ['path'], message: `is required by operator "${operator}"` };
    return value === undefined ? null : { path: ['value'], message: `means nothing to "${operator}", remove it` };
  }
  if (!FITTING[type].includes(operator)) {
    return { path: ['operator'], message: `must be one of ${FITTING[type].join(', ')} for a ${type}` };
  }
  if (path === undefined && (type !== 'string' || operator === 'neq')) {
    return { path: ['path'], message: 'is required here: without one, only texts are looked for' };
  }
  if (operator === 'in') return Array.isArray(value) ? null : { path: ['value'], message: 'must be a list of strings' };
  if (typeof value !== type) return { path: ['value'], message: `is required, give a ${type}` };
  const problem = operator === 'regex' ? patternProblem(String(value)) : null;
  return problem === null ? null : { path: ['value'], message: problem };
}

/**
 * Reads a value, in any representation, as the type of a test: plain numeric text is a number, and "true" is true.
 * Returns undefined if it cannot be read as that type.
 */
export function asType(value: unknown, type: ArgumentTest['type']): string | boolean | ExactNumber | undefined {
  if (type === 'number') return exactNumber(value);
  if (type === 'string') return typeof value === 'string' ? value : undefined;
  if (typeof value === 'string' && /^(true|false)$/i.test(value)) return value.toLowerCase() === 'true';
  return typeof value === 'boolean' ? value : undefined;
}

type Test = (value: unknown) => boolean;

/** Returns the test for a value that was read with `asType`. */
export function scalarTest({ type, operator, value }: ArgumentTest): Test {
  if (type === 'number') return numberTest(operator, exactNumber(value));
  if (operator === 'eq') return (actual) => actual === value;
  if (operator === 'neq') return (actual) => actual !== value;
  return textTest(operator, value);
}

const HOLDS: Partial<Record<ArgumentTest['operator'], (difference: number) => boolean>> = {
  eq: (difference) => difference === 0,
  neq: (difference) => difference !== 0,
  gt: (difference) => difference > 0,
  gte: (difference) => difference >= 0,
  lt: (difference) => difference < 0,
  lte: (difference) => difference <= 0,
};

function numberTest(operator: ArgumentTest['operator'], limit: ExactNumber | undefined): Test {
  const holds = HOLDS[operator];
  if (holds === undefined || limit === undefined) return () => false;
  return (actual) => holds(compareExactly(actual as ExactNumber, limit));
}

function textTest(operator: ArgumentTest['operator'], value: ArgumentTest['value']): Test {
  const wanted = String(value);
  if (operator === 'contains') return (actual) => String(actual).includes(wanted);
  if (operator === 'startsWith') return (actual) => String(actual).startsWith(wanted);
  if (operator === 'endsWith') return (actual) => String(actual).endsWith(wanted);
  if (operator === 'glob') return (actual) => globMatchesFolded(wanted, String(actual));
  if (operator === 'in') return (actual) => Array.isArray(value) && value.includes(String(actual));
  const pattern = compilePattern(wanted);
  return (actual) => pattern.found(String(actual));
}
