import type { ASTNode } from '@marcbachmann/cel-js';
import { spend } from '../../decisions/step-meter.ts';

/** Macros that iterate over lists. Their second argument is evaluated for each element. */
export const MACROS: ReadonlySet<unknown> = new Set(['all', 'exists', 'exists_one', 'filter', 'map']);

/**
 * Names of the charging functions: `charged(x)` returns x, and `walked(x, n)` returns x and charges n steps per
 * element.
 */
export const CHARGED = 'charged';
export const WALKED = 'walked';

/** Steps per compared value, and characters of a string per step. */
const VALUE_STEPS = 4;
const CHARACTERS_A_STEP = 8;
/** Reading a time in a time zone builds that zone's calendar. */
const TIME_STEPS = 2_000;
/** Steps per element of an iteration, and per node evaluated for each element. */
const ELEMENT_STEPS = 10;
const NODE_STEPS = 4;
/**
 * Steps per element if its evaluation can fail: the error recorded for each element costs far more than the evaluation.
 */
const FAILING_STEPS = 100;
const NEVER_FAILING: ReadonlySet<unknown> = new Set(['value', 'id', 'list', '==', '!=', '&&', '||', '!_', 'in']);

const COMPARING: ReadonlySet<unknown> = new Set(['==', '!=', '<', '<=', '>', '>=']);

/**
 * Rewrites an expression so that everything that can cost more than one step is charged first: iterations over lists,
 * membership tests, comparisons of non-constants, and function arguments.
 * @param free functions that charge for themselves
 */
export function addCharges(node: ASTNode, free: ReadonlySet<unknown>): void {
  const { op } = node;
  if (op === 'value' || op === 'id') return;
  if ((op === 'call' || op === 'rcall') && node.args[0] === 'has') return;
  for (const child of childrenOf(node.args)) addCharges(child, free);
  const args = node.args as unknown[];
  if (COMPARING.has(op)) {
    if (!args.some(isConstant)) args[0] = charged(args[0]);
  } else if (op === '+') {
    args.splice(0, 2, ...args.map(charged));
  } else if (op === 'in') {
    args[1] = charged(args[1]);
  } else if (op === 'call' && !free.has(args[0])) {
    args[1] = (args[1] as unknown[]).map(charged);
  } else if (op === 'rcall' && MACROS.has(args[0])) {
    const each = childrenOf(args[2]);
    const steps = (each.some(canFail) ? FAILING_STEPS : ELEMENT_STEPS) + NODE_STEPS * sizeOfTree(args[2]);
    args[1] = { op: 'call', args: [WALKED, [args[1], { op: 'value', args: BigInt(steps) }]] };
  } else if (op === 'rcall' && !free.has(args[0])) {
    args[1] = charged(args[1]);
    args[2] = (args[2] as unknown[]).map(charged);
  }
}

/** Sizes of the values seen during one evaluation. A list built by the expression can contain one value many times. */
let sizes: WeakMap<object, number> | undefined;

/** Call before each evaluation, because values may have changed since the previous one. */
export function forgetSizes(): void {
  sizes = undefined;
}

/** @throws StepsSpent */
export function chargeFor<T>(value: T): T {
  const steps = stepsOf(value);
  if (steps > VALUE_STEPS) spend(steps);
  return value;
}

/** @throws StepsSpent */
export function chargeWalk<T>(value: T, stepsEach: bigint): T {
  spend(lengthOf(value) * Number(stepsEach));
  return value;
}

function stepsOf(value: unknown): number {
  if (typeof value === 'string') return VALUE_STEPS + value.length / CHARACTERS_A_STEP;
  if (typeof value !== 'object' || value === null) return VALUE_STEPS;
  sizes ??= new WeakMap();
  const known = sizes.get(value);
  if (known !== undefined) return known;
  // Placeholder until the size is known: a value that contains itself is infinite.
  sizes.set(value, Number.POSITIVE_INFINITY);
  const steps = stepsOfObject(value);
  sizes.set(value, steps);
  return steps;
}

function stepsOfObject(value: object): number {
  if (value instanceof Date) return TIME_STEPS;
  if (ArrayBuffer.isView(value)) return VALUE_STEPS + value.byteLength / CHARACTERS_A_STEP;
  let steps = VALUE_STEPS;
  for (const inner of membersOf(value)) steps += stepsOf(inner);
  return steps;
}

function membersOf(value: object): Iterable<unknown> {
  if (Array.isArray(value) || value instanceof Set) return value;
  return value instanceof Map ? value.values() : Object.values(value);
}

function lengthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  if (Array.isArray(value)) return value.length;
  return value instanceof Map || value instanceof Set ? value.size : Object.keys(value).length;
}

function charged(node: unknown): unknown {
  return isConstant(node) ? node : { op: 'call', args: [CHARGED, [node]] };
}

/** True for literals of the expression, whose length is limited. */
export function isConstant(node: unknown): boolean {
  if (!isNode(node)) return false;
  return node.op === 'value' || (node.op === 'list' && childrenOf(node.args).every(isConstant));
}

/** True if an expression iterates over a list, and so can fail many times in one evaluation. */
export function hasWalk(node: ASTNode): boolean {
  return (node.op === 'rcall' && MACROS.has(node.args[0])) || childrenOf(node.args).some(hasWalk);
}

function canFail(node: ASTNode): boolean {
  if (isCharge(node)) return childrenOf(node.args).some(canFail);
  return !NEVER_FAILING.has(node.op) || childrenOf(node.args).some(canFail);
}

function isCharge({ op, args }: ASTNode): boolean {
  return op === 'call' && (args[0] === CHARGED || args[0] === WALKED);
}

function sizeOfTree(node: unknown): number {
  const children = isNode(node) ? childrenOf(node.args) : childrenOf(node);
  return children.reduce((sum, child) => sum + sizeOfTree(child), isNode(node) ? 1 : 0);
}

/** Direct child nodes, including those inside the lists that group them. */
export function childrenOf(args: unknown): ASTNode[] {
  if (isNode(args)) return [args];
  return Array.isArray(args) ? args.flatMap(childrenOf) : [];
}

export function isNode(value: unknown): value is ASTNode {
  return typeof value === 'object' && value !== null && 'op' in value && 'args' in value;
}
