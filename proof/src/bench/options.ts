import { parseArgs } from 'node:util';

export interface BenchOptions {
  /** Names of scenarios. Empty: the default set. */
  readonly only: readonly string[];
  /** The short set of CI, at most a minute. */
  readonly smoke: boolean;
  /** Duration of the load in each measurement. */
  readonly seconds: number;
  /** Number of stored events for the queries. */
  readonly rows: number;
  /** File for the figures as JSON. */
  readonly json: string | undefined;
  /** Compare with another build instead of running the scenarios: `release`, a commit or a folder. */
  readonly against: string | undefined;
  /** Print the ratios of a comparison without a verdict. */
  readonly report: boolean;
  /** Pairs of runs in a comparison. */
  readonly rounds: number;
  /** Folder for CPU profiles of every service, which are written when the service stops. */
  readonly profile: string | undefined;
  readonly list: boolean;
  readonly help: boolean;
}

export const HELP = `npm run bench -- [scenario ...] [options]

  decisions           run only this scenario; you can name several (names: --list)
  --only T1,queries   the same as an option
  --smoke             the short set, at most a minute
  --seconds N         duration of the load in each measurement (default 6, smoke 4)
  --rows N            stored events for the queries (default 1000000)
  --json FILE         write the figures as JSON
  --against REF       compare this build with that of REF, in turn, in one process each, and print
                      ratios; exit 1 if an event or a decision takes more than 1.05 times the CPU.
                      REF is "release" (the newest one), a commit, or a folder with a built checkout.
                      Name loads to use only some: events-100, events-3, events-1 (events a
                      request), decisions, decisions-16 (in flight), and spans-100 (of an
                      OpenTelemetry exporter), which runs only if named; with --smoke, exit 0 with
                      a message if REF cannot be measured here
  --report            print the ratios of a comparison, and exit 0
  --rounds N          pairs of runs in a comparison (default 4, smoke 3)
  --profile FOLDER    write a CPU profile of every service
  --list              list the scenarios`;

const DEFAULT_SECONDS = 6;
const SMOKE_SECONDS = 4;
const DEFAULT_ROUNDS = 4;
const SMOKE_ROUNDS = 3;

/** @throws an error that describes the problem in terms of the command line */
export function parseOptions(argv: readonly string[]): BenchOptions {
  const { values, positionals } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      only: { type: 'string' },
      smoke: { type: 'boolean', default: false },
      seconds: { type: 'string' },
      rows: { type: 'string', default: '1000000' },
      json: { type: 'string' },
      against: { type: 'string' },
      report: { type: 'boolean', default: false },
      rounds: { type: 'string' },
      profile: { type: 'string' },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const { smoke, list, help } = values;
  return {
    only: [...(values.only ?? '').split(','), ...positionals].filter((name) => name !== ''),
    smoke,
    seconds:
      values.seconds === undefined ? (smoke ? SMOKE_SECONDS : DEFAULT_SECONDS) : positive('seconds', values.seconds),
    rows: positive('rows', values.rows),
    json: values.json,
    against: values.against,
    report: values.report,
    rounds: values.rounds === undefined ? (smoke ? SMOKE_ROUNDS : DEFAULT_ROUNDS) : positive('rounds', values.rounds),
    profile: values.profile,
    list,
    help,
  };
}

function positive(name: string, text: string): number {
  const value = Number(text);
  if (!Number.isFinite(value) || value <= 0) throw new Error(`--${name} must be a number above 0, not "${text}"`);
  return value;
}
