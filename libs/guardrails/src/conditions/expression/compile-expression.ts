import type { DecisionRequest } from '@agentlens/contracts';
import { type ASTNode, Environment, EvaluationError, type Limits, serialize } from '@marcbachmann/cel-js';
import { CALL_PARTS, type CallPart } from '../../catalog/condition-module.ts';
import type { DecisionAnswer } from '../../decisions/answer.ts';
import { spend } from '../../decisions/step-meter.ts';
import { readArguments, unpacked } from '../../patterns/json-text.ts';
import { visibleName } from '../../patterns/names.ts';
import { compilePattern, type Pattern, patternProblem } from '../../patterns/pattern.ts';
import {
  addCharges,
  CHARGED,
  chargeFor,
  chargeWalk,
  childrenOf,
  forgetSizes,
  hasWalk,
  isConstant,
  isNode,
  MACROS,
  WALKED,
} from './charges.ts';
import { COMPARED, compareAnyRepresentation, compareValues, isUnreadable } from './comparisons.ts';

export const MAX_EXPRESSION = 2_000;
/** Cache size for patterns built from values during evaluation. The cache is cleared when full. */
const MAX_PATTERNS = 50;
const patterns = new Map<string, Pattern>();

/** Linear-time replacement for the library's `matches`, which backtracks. */
const LINEAR_MATCHES = 'linearMatches';

/** Steps for compiling a pattern that comes from a value, because the call waits for it. */
const COMPILING_STEPS = 20_000;

const LIMITS = { maxListElements: 200, maxMapEntries: 200, maxCallArguments: 20 };
const environment = environmentOf({ ...LIMITS, maxAstNodes: 500, maxDepth: 50 });
/** Larger limits, because each charge adds a call around a part of the expression. */
const evaluating = environmentOf({ ...LIMITS, maxAstNodes: 2_000, maxDepth: 150 })
  .registerFunction(`${CHARGED}(dyn): dyn`, chargeFor)
  .registerFunction(`${WALKED}(dyn, int): dyn`, chargeWalk)
  .registerFunction(`${COMPARED}(dyn, string, dyn): bool`, compareValues);

function environmentOf(limits: Partial<Limits>): Environment {
  return new Environment({ unlistedVariablesAreDyn: false, limits })
    .registerVariable('tool', 'map<string, dyn>')
    .registerVariable('args', 'dyn')
    .registerVariable('result', 'dyn')
    .registerVariable('actor', 'map<string, dyn>')
    .registerVariable('tags', 'map<string, string>')
    .registerVariable('subjects', 'list<dyn>')
    .registerVariable('metrics', 'map<string, dyn>')
    .registerVariable('phase', 'string')
    .registerVariable('agentId', 'string')
    .registerVariable('runId', 'string')
    .registerFunction(`string.${LINEAR_MATCHES}(string): bool`, (text: string, source: string) =>
      patternOf(source).found(text),
    );
}

/**
 * Returns in one line why an expression is not a valid condition, or null if it is. Checks names, types and patterns.
 */
export function expressionProblem(source: string): string | null {
  try {
    const { valid, type, error } = environment.parse(serialize(withLinearMatches(source))).check();
    if (!valid) return firstLine(error);
    return type === 'bool' || type === 'dyn' ? null : `must be true or false, this is of type ${type}`;
  } catch (error) {
    return firstLine(error);
  }
}

/** Maps: looking up a name in them is not an iteration. */
const MAPS: ReadonlySet<unknown> = new Set(['tags', 'metrics', 'actor', 'tool']);

/**
 * Returns a message for the author if an expression hides an iteration inside another, or null if it does not or is not
 * valid.
 */
export function hiddenWalk(source: string): string | null {
  try {
    return walksInside(environment.parse(source).ast, false)
      ? '"in" inside a walk over a list is another walk: give its list in the expression, or take it apart'
      : null;
  } catch {
    return null;
  }
}

function walksInside(node: ASTNode, inside: boolean): boolean {
  if (node.op === 'rcall' && MACROS.has(node.args[0])) {
    const [, receiver, bodies] = node.args;
    return walksInside(receiver, inside) || bodies.some((body) => walksInside(body, true));
  }
  if (inside && node.op === 'in') {
    const [, list] = node.args;
    if (!isConstant(list) && !(list.op === 'id' && MAPS.has(list.args))) return true;
  }
  return childrenOf(node.args).some((child) => walksInside(child, inside));
}

interface CompiledExpression {
  readonly reads: readonly CallPart[];
  readonly ask: (request: DecisionRequest) => DecisionAnswer;
}

/** @throws if the expression is invalid; check with `expressionProblem` first */
export function compileExpression(source: string): CompiledExpression {
  const ast = withLinearMatches(source);
  const names = new Set<unknown>();
  collectNames(ast, names);
  compareAnyRepresentation(ast);
  addCharges(ast, CHARGING_ITSELF);
  const asking = hasWalk(ast) ? withoutStacks : directly;
  const evaluate = evaluating.parse(serialize(ast));
  return {
    reads: CALL_PARTS.filter((part) => names.has(part)),
    ask(request) {
      try {
        const answer: unknown = asking(() => evaluate(contextOf(request)));
        if (typeof answer === 'boolean') return answer;
        throw new Error('the expression is neither true nor false');
      } catch (error) {
        if (isUnreadable(error)) return 'missing';
        if (error instanceof EvaluationError && LACKING.has(error.code)) return 'missing';
        throw error;
      }
    },
  };
}

/** Collects every name in an expression. Includes names of members and local variables, which does no harm. */
function collectNames(node: unknown, names: Set<unknown>): void {
  if (Array.isArray(node)) {
    for (const inner of node) collectNames(inner, names);
    return;
  }
  if (!isNode(node)) return;
  if (node.op === 'id') names.add(node.args);
  collectNames(node.args, names);
}

/** Error codes that mean that the call lacks a value the expression reads. */
const LACKING = new Set(['no_such_key', 'index_out_of_range', 'index_out_of_bounds']);

function contextOf(request: DecisionRequest): Record<string, unknown> {
  const { tool, args, result, actor, tags, subjects, metrics, phase, agentId, runId } = request;
  return {
    tool: tool === undefined ? {} : { ...tool, name: visibleName(tool.name) },
    args: args === undefined || args === null ? {} : readArguments(request),
    result: unpacked(result) ?? null,
    actor: actor ?? {},
    ...{ tags, subjects, metrics, phase, agentId, runId },
  };
}

const CHARGING_ITSELF: ReadonlySet<unknown> = new Set([LINEAR_MATCHES, 'matches']);

function withLinearMatches(source: string): ASTNode {
  const { ast } = environment.parse(source);
  rewrite(ast, 0);
  return ast;
}

function directly<T>(evaluate: () => T): T {
  forgetSizes();
  return evaluate();
}

/**
 * An iteration creates an error for each element it fails on. Their stack traces are never read and would cost ten
 * times the iteration.
 */
function withoutStacks<T>(evaluate: () => T): T {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return directly(evaluate);
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** Rejects nested macros, because their cost is the product of the list lengths, and replaces `matches`. */
function rewrite(node: unknown, macros: number): void {
  if (Array.isArray(node)) {
    for (const inner of node) rewrite(inner, macros);
    return;
  }
  if (!isNode(node)) return;
  const name = node.op === 'rcall' || node.op === 'call' ? node.args[0] : undefined;
  const inside = macros + (name !== undefined && MACROS.has(name) ? 1 : 0);
  if (inside > 1) throw new Error(`"${name}" inside another walk over a list is too costly, take it apart`);
  if (node.op === 'rcall' && name === 'matches') {
    refusePattern(node.args[2]);
    (node.args as unknown[])[0] = LINEAR_MATCHES;
  }
  rewrite(node.args, inside);
}

function refusePattern([pattern]: readonly ASTNode[]): void {
  if (pattern?.op !== 'value' || typeof pattern.args !== 'string') return;
  const problem = patternProblem(pattern.args);
  if (problem !== null) throw new Error(`"${pattern.args.slice(0, 60)}" ${problem}`);
}

function patternOf(source: string): Pattern {
  const known = patterns.get(source);
  if (known !== undefined) return known;
  spend(COMPILING_STEPS);
  if (patterns.size >= MAX_PATTERNS) patterns.clear();
  const made = compilePattern(source);
  patterns.set(source, made);
  return made;
}

function firstLine(error: unknown): string {
  const [line = ''] = error instanceof Error ? error.message.split('\n') : [];
  return line === '' ? 'is not a CEL expression' : line;
}
