import { InvalidArgumentError } from 'commander';

/** A number of seconds above 0, up to an hour. */
export function seconds(text: string): number {
  const value = Number(text);
  if (Number.isFinite(value) && value > 0 && value <= 3_600) return value;
  throw new InvalidArgumentError('Give a number of seconds, like 30.');
}

/** A whole number of at least 1. */
export function count(text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 1) return value;
  throw new InvalidArgumentError('Give a whole number of at least 1.');
}

/** An amount of money in USD. */
export function amount(text: string): number {
  const value = Number(text);
  if (/^\d{1,9}(\.\d{1,6})?$/.test(text)) return value;
  throw new InvalidArgumentError('Give an amount in USD, like 0.25.');
}
