import { compilePattern, patternProblem } from '../../patterns/pattern.ts';

const TEXT_OPERATORS = ['eq', 'neq', 'contains', 'startsWith', 'endsWith', 'in', 'regex'] as const;
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

/** What does not fit together in a test; null: it is whole. */
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
  if (operator === 'in') return Array.isArray(value) ? null : { path: ['value'], message: 'must be a list of texts' };
  if (typeof value !== type) return { path: ['value'], message: `is required, give a ${type}` };
  const problem = operator === 'regex' ? patternProblem(String(value)) : null;
  return problem === null ? null : { path: ['value'], message: problem };
}

type Test = (value: unknown) => boolean;

/** The test of one value that has the right type. */
export function scalarTest({ type, operator, value }: ArgumentTest): Test {
  if (operator === 'eq') return (actual) => actual === value;
  if (operator === 'neq') return (actual) => actual !== value;
  if (type === 'number') return numberTest(operator, Number(value));
  return textTest(operator, value);
}

function numberTest(operator: ArgumentTest['operator'], limit: number): Test {
  if (operator === 'gt') return (actual) => Number(actual) > limit;
  if (operator === 'gte') return (actual) => Number(actual) >= limit;
  if (operator === 'lt') return (actual) => Number(actual) < limit;
  return (actual) => Number(actual) <= limit;
}

function textTest(operator: ArgumentTest['operator'], value: ArgumentTest['value']): Test {
  const wanted = String(value);
  if (operator === 'contains') return (actual) => String(actual).includes(wanted);
  if (operator === 'startsWith') return (actual) => String(actual).startsWith(wanted);
  if (operator === 'endsWith') return (actual) => String(actual).endsWith(wanted);
  if (operator === 'in') return (actual) => Array.isArray(value) && value.includes(String(actual));
  const pattern = compilePattern(wanted);
  return (actual) => pattern.found(String(actual));
}
