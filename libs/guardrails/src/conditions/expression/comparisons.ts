import type { ASTNode } from '@marcbachmann/cel-js';
import { compareExactly, exactNumber } from '../../patterns/exact-number.ts';
import { childrenOf } from './charges.ts';

/** `compared(a, ">", b)` is `a > b` for any representation of the numbers: 5000, "5000" and "5e3" are equal. */
export const COMPARED = 'compared';

const HOLDS: Readonly<Record<string, (difference: number) => boolean>> = {
  '<': (difference) => difference < 0,
  '<=': (difference) => difference <= 0,
  '>': (difference) => difference > 0,
  '>=': (difference) => difference >= 0,
  '==': (difference) => difference === 0,
  '!=': (difference) => difference !== 0,
};

/** A value is compared with a number but cannot be read as one. */
class UnreadableNumber extends Error {
  override readonly name = 'UnreadableNumber';
}

/** Searches the causes, because the library wraps errors thrown by functions. */
export function isUnreadable(error: unknown): boolean {
  for (let at = error; at instanceof Error; at = at.cause) if (at instanceof UnreadableNumber) return true;
  return false;
}

/**
 * Replaces comparisons of a call value with a number, and ordered comparisons of two call values. Comparisons with a
 * string literal of the expression remain string comparisons.
 */
export function compareAnyRepresentation(node: ASTNode): void {
  const { op } = node;
  if (op === 'value' || op === 'id') return;
  for (const child of childrenOf(node.args)) compareAnyRepresentation(child);
  if (HOLDS[op] === undefined) return;
  const [left, right] = node.args as [ASTNode, ASTNode];
  const isOrdered = op !== '==' && op !== '!=';
  const isWithNumber = isNumber(left) !== isNumber(right);
  if (!isWithNumber && !(isOrdered && isPlace(left) && isPlace(right))) return;
  const replaced = node as { op: string; args: unknown };
  replaced.args = [COMPARED, [left, { op: 'value', args: op }, right]];
  replaced.op = 'call';
}

/** @throws UnreadableNumber */
export function compareValues(left: unknown, op: string, right: unknown): boolean {
  const holds = HOLDS[op];
  if (holds === undefined) throw new Error(`"${op}" compares nothing`);
  const [a, b] = [exactNumber(left), exactNumber(right)];
  if (a !== undefined && b !== undefined) return holds(compareExactly(a, b));
  if (op === '==' || op === '!=') return op === '!=';
  if (typeof left !== 'string' || typeof right !== 'string') throw new UnreadableNumber('a value is not a number');
  if (left === right) return holds(0);
  return holds(left < right ? -1 : 1);
}

function isNumber({ op, args }: ASTNode): boolean {
  if (op === '-_') return childrenOf(args).every(isNumber);
  return op === 'value' && (typeof args === 'number' || typeof args === 'bigint');
}

/** A value of the call: a name, or a member of one. */
function isPlace({ op }: ASTNode): boolean {
  return op === 'id' || op === '.' || op === '[]';
}
