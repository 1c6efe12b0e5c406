import { parseArgs } from 'node:util';
import { EXIT_CODES, EXIT_NOT_WITNESSED, type Verdict, verifyBundle } from './bundle.ts';
import { readVerifierKey, UnreadableInput } from './note.ts';

export const USAGE = `Usage: agentlens-verify bundle FILE --key KEY [--witness KEY] [--require-witness] [--since CHECKPOINT]

  --key KEY          the key of the log, <name>+<id>+<base64>; take it from the operator, not from the bundle
  --witness KEY      the key of a witness; may be repeated
  --require-witness  fail with exit code 4 unless a witness signed
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
    const verdict = verifyBundle(readText(file), {
      keys: values.key.map(readVerifierKey),
      witnesses: (values.witness ?? []).map(readVerifierKey),
      since: values.since === undefined ? undefined : readText(values.since),
    });
    for (const line of describe(verdict)) print(line);
    const exit = EXIT_CODES[verdict.status];
    return exit === 0 && values['require-witness'] === true && verdict.warnings.length > 0 ? EXIT_NOT_WITNESSED : exit;
  } catch (error) {
    if (!(error instanceof UnreadableInput) && !(error instanceof TypeError) && !isFileError(error)) throw error;
    print(`unreadable: ${error.message}`);
    return EXIT_CODES.unreadable;
  }
}

const isFileError = (error: unknown): error is Error => error instanceof Error && 'code' in error;

function describe({ status, findings, warnings, entries, withheld, checkpoint }: Verdict): string[] {
  const lines = [
    status,
    ...findings.map(({ index, problem }) => `  ${index === undefined ? '' : `entry ${index}: `}${problem}`),
  ];
  if (checkpoint !== undefined && findings.length === 0) {
    lines.push(
      `  ${entries} entries are in the log of ${checkpoint.origin}, signed at ${checkpoint.size} entries; ${withheld} withheld.`,
      '  This proves what was recorded and that it was not changed since. It does not prove that a rule was right,',
      '  that the agent obeyed, or that an event which never reached the platform happened.',
    );
  }
  return [...lines, ...warnings.map((warning) => `  warning: ${warning}`)];
}
