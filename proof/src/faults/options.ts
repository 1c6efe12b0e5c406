import { parseArgs } from 'node:util';

export interface FaultOptions {
  /** Ids of faults. Empty: the short set, or all. */
  readonly only: readonly string[];
  readonly all: boolean;
  /** Run each fault in its short form: fewer kills, fewer links, wider time limits. */
  readonly smoke: boolean;
  readonly seed: number;
  readonly minutes: number;
  readonly reports: string;
  readonly list: boolean;
  readonly help: boolean;
}

export const HELP = `npm run faults -- [options]

  --smoke             the short set, at most three minutes (default)
  --all               every fault
  --only F-05,F-12    run only these (ids: --list); with --smoke in their short form
  --seed N            repeat the choices of an earlier run; default: a new seed, which is printed
  --minutes N         duration of the soak (default 3; use 30 for a release)
  --reports FOLDER    folder for the reports (default reports)
  --list              list the faults`;

const SEEDS = 1_000_000;

/** @throws an error that describes the problem in terms of the command line */
export function parseOptions(argv: readonly string[]): FaultOptions {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      smoke: { type: 'boolean', default: false },
      all: { type: 'boolean', default: false },
      only: { type: 'string' },
      seed: { type: 'string' },
      minutes: { type: 'string', default: '3' },
      reports: { type: 'string', default: 'reports' },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.smoke && values.all) throw new Error('--smoke and --all exclude each other');
  const only = (values.only ?? '').split(',').filter((id) => id !== '');
  return {
    only,
    all: values.all,
    smoke: values.smoke || (!values.all && only.length === 0),
    seed: values.seed === undefined ? Math.floor(Math.random() * SEEDS) : seedOf(values.seed),
    minutes: positive('minutes', values.minutes),
    reports: values.reports,
    list: values.list,
    help: values.help,
  };
}

function seedOf(text: string): number {
  const seed = Number(text);
  if (!Number.isSafeInteger(seed) || seed < 0) throw new Error(`--seed must be a whole number, not "${text}"`);
  return seed;
}

function positive(name: string, text: string): number {
  const value = Number(text);
  if (!Number.isFinite(value) || value <= 0) throw new Error(`--${name} must be a number above 0, not "${text}"`);
  return value;
}
