import { parseArgs } from 'node:util';
import { EXIT_CODES, EXIT_NOT_WITNESSED, type Verdict, verifyBundle } from './bundle.ts';
import { readVerifierKey, UnreadableInput, type VerifierKey } from './note.ts';

export const USAGE = `Usage: agentlens-verify bundle FILE --key KEY [--since CHECKPOINT]
                        [--witness KEY]... [--require-witness | --quorum N]

  --key KEY          the key of the log, <name>+<id>+<base64>; take it from the operator, not from the bundle
  --witness KEY      the key of a witness; may be repeated
  --require-witness  fail with exit code 4 unless a witness signed
  --quorum N         fail with exit code 4 unless N witnesses signed
  --since FILE       a checkpoint that you kept; the log must still contain it

Exit codes: 0 proven, 1 altered, 2 incomplete, 3 unknown key, 4 not witnessed, 5 unreadable`;

/** Files of the reader, so that this code needs no file system of its own. */
export interface VerifierFiles {
  readonly readText: (path: string) => string;
  readonly print: (line: string) => void;
}

/** Runs the command line. @returns the exit code */
export function runVerifier(args: readonly string[], { readText, print }: VerifierFiles): number {
  const options = {
    key: { type: 'string', multiple: true },
    witness: { type: 'string', multiple: true },
    'require-witness': { type: 'boolean' },
    quorum: { type: 'string' },
    since: { type: 'string' },
    help: { type: 'boolean' },
  } as const;
  try {
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
    const [command, file, ...rest] = positionals;
    if (values.help === true) {
      print(USAGE);
      return 0;
    }
    if (command !== 'bundle' || file === undefined || rest.length > 0 || values.key === undefined) {
      print(USAGE);
      return EXIT_CODES.unreadable;
    }
    const keys = values.key.map(readVerifierKey);
    if (keys.some(({ isCosigner }) => isCosigner))
      throw new UnreadableInput('--key is the key of a witness; give it with --witness');
    const witnesses = (values.witness ?? []).map(readVerifierKey);
    const quorum = values.quorum === undefined ? undefined : readQuorum(values.quorum, witnesses);
    const verdict = verifyBundle(readText(file), {
      ...{ keys, witnesses, quorum },
      since: values.since === undefined ? undefined : readText(values.since),
    });
    for (const line of describe(verdict)) print(line);
    const exit = EXIT_CODES[verdict.status];
    const mustBeWitnessed = values['require-witness'] === true || quorum !== undefined;
    return exit === 0 && mustBeWitnessed && !verdict.isWitnessed ? EXIT_NOT_WITNESSED : exit;
  } catch (error) {
    if (!(error instanceof UnreadableInput) && !(error instanceof TypeError) && !isFileError(error)) throw error;
    print(`unreadable: ${error.message}`);
    return EXIT_CODES.unreadable;
  }
}

/** More than there are could never be met. */
function readQuorum(text: string, witnesses: readonly VerifierKey[]): number {
  const most = new Set(witnesses.map(({ bytes }) => bytes)).size;
  if (!/^[1-9]\d{0,3}$/.test(text) || Number(text) > most)
    throw new UnreadableInput(`--quorum must be from 1 to the number of witnesses that you give, ${most}`);
  return Number(text);
}

const isFileError = (error: unknown): error is Error => error instanceof Error && 'code' in error;

function describe({ status, findings, warnings, witnesses, entries, withheld, checkpoint }: Verdict): string[] {
  const lines = [
    status,
    ...findings.map(({ index, problem }) => `  ${index === undefined ? '' : `entry ${index}: `}${problem}`),
  ];
  if (checkpoint !== undefined && findings.length === 0) {
    lines.push(
      `  ${entries} entries are in the log of ${checkpoint.origin}, signed at ${checkpoint.size} entries; ${withheld} withheld.`,
      ...witnesses.map(({ name, at }) => `  Witnessed by ${name}${at === undefined ? '' : `, at ${at} by its clock`}.`),
      '  This proves what was recorded and that it was not changed since. It does not prove that a rule was right,',
      '  that the agent obeyed, or that an event which never reached the platform happened.',
    );
  }
  return [...lines, ...warnings.map((warning) => `  warning: ${warning}`)];
}
