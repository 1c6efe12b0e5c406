import { readFile } from 'node:fs/promises';
import type { Client } from '@agentlens/client';
import { collectEvidence } from '@agentlens/client/collect-evidence';
import {
  compareCheckpoints,
  openCheckpoint,
  readVerifierKey,
  UnreadableInput,
  WrongSignature,
} from '@agentlens/log-verify';
import { InvalidArgumentError } from 'commander';
import type { AnswerOf, DefineCommand } from '../context.ts';
import { CommandError } from '../errors.ts';
import { withProgress } from '../output/output.ts';
import { type Column, table } from '../output/table.ts';

type LogPart = AnswerOf<'verifyLog'>;
type LogProblem = LogPart['findings'][number];

const FINDING_COLUMNS: readonly Column<LogProblem>[] = [
  { title: 'entry', value: ({ index }) => index, align: 'right' },
  { title: 'problem', value: ({ problem }) => problem },
  { title: 'kind', value: ({ kind }) => kind },
  { title: 'id', value: ({ id, reason }) => id ?? reason },
];

/** Stops here: the first difference matters, and a broken log has as many as entries. */
const MAX_FINDINGS = 100;

export const logKey: DefineCommand = (command, context) => {
  command.action(async () => {
    const client = await context.connect();
    const answer = await client.getLogKey();
    context.output.print(answer, () => answer.key);
  });
};

export const logCheckpoint: DefineCommand = (command, context) => {
  command.option('--witnessed', 'the newest one that a witness cosigned').action(async ({ witnessed }) => {
    const client = await context.connect();
    const answer = await client.getLogCheckpoint({ query: { witnessed } });
    context.output.print(answer, () => answer.note.trimEnd());
  });
};

export const verifyLog: DefineCommand = (command, context) => {
  command
    .option('--since <file>', 'a checkpoint that you kept: the log must still contain it')
    .option('--key <key>', 'the key of the log, with --since; default: the one that the platform says')
    .action(async ({ since, key }) => {
      const client = await context.connect();
      const kept = since === undefined ? undefined : await readFile(since, 'utf8');
      const findings: LogProblem[] = [];
      let [checked, erased, size] = [0, 0, 0];
      for (let position: LogPart['next'] = { from: 0 }; position !== undefined && findings.length < MAX_FINDINGS; ) {
        const part: LogPart = await client.verifyLog({ body: position });
        findings.push(...part.findings);
        checked += part.checked;
        erased += part.erased;
        size = part.size;
        position = part.next;
      }
      const { output } = context;
      output.print({ ok: findings.length === 0, size, checked, erased, findings }, () =>
        findings.length === 0
          ? `All ${checked} entries agree with the database and the checkpoints; the content of ${erased} was erased.`
          : table(findings, FINDING_COLUMNS, output.layout),
      );
      const [first] = findings;
      if (first === undefined) {
        if (kept !== undefined) await compareWithKept(client, kept, key);
        return;
      }
      const place = first.index === undefined ? `${first.kind} ${first.id}` : `entry ${first.index}`;
      const reason = first.reason === undefined ? '' : ` (${first.reason})`;
      throw new CommandError(`The log and the database differ, first at ${place}: ${first.problem}${reason}`);
    });
};

/** Finds what the database cannot show: a restored backup, and a log that was rewritten and signed again. */
async function compareWithKept(client: Client, kept: string, key: string | undefined): Promise<void> {
  try {
    const keys = [readVerifierKey(key ?? (await client.getLogKey()).key)];
    const old = openCheckpoint(kept, keys);
    if (old.signedBy.length === 0)
      throw new CommandError(`The kept checkpoint of ${old.origin} is not signed by the key of this log`);
    const now = openCheckpoint((await client.getLogCheckpoint()).note, keys);
    if (now.signedBy.length === 0) throw new CommandError('The newest checkpoint is not signed by the key of the log');
    const needsProof = old.size > 0 && old.size < now.size;
    const answer = needsProof ? await client.getLogConsistency({ query: { from: old.size, to: now.size } }) : undefined;
    const proof = answer?.proof.map((hash) => Buffer.from(hash, 'base64'));
    const problem = compareCheckpoints(old, now, proof);
    if (problem !== undefined) throw new CommandError(`The log is not the one that you kept: ${problem}`);
  } catch (error) {
    if (error instanceof UnreadableInput || error instanceof WrongSignature)
      throw new CommandError(`The checkpoints cannot be compared: ${error.message}`);
    throw error;
  }
}

const SUBJECTS = {
  run: 'getRunEvidence',
  decision: 'getDecisionEvidence',
  approval: 'getApprovalEvidence',
  order: 'getOrderEvidence',
} as const;

/** The commands that write a bundle for `agentlens-verify` to the standard output. */
function evidenceOf(kind: keyof typeof SUBJECTS): DefineCommand {
  return (command, context) => {
    command
      .argument('<id>', `id of the ${kind}`)
      .option('--since <size>', 'size of a checkpoint that you kept', wholeSize)
      .action(async (id, { since }) => {
        const client = await context.connect();
        const ask = () => client[SUBJECTS[kind]]({ params: { id }, query: { since } });
        const evidence = await withProgress(context.output, 'waiting for the log', collectEvidence(ask));
        if (evidence.pending > 0)
          context.output.note(
            `${evidence.pending} newer facts are not in this evidence: no checkpoint contains them yet.`,
          );
        context.output.print(evidence, () => JSON.stringify(evidence));
      });
  };
}

export const runEvidence = evidenceOf('run');
export const decisionEvidence = evidenceOf('decision');
export const approvalEvidence = evidenceOf('approval');
export const orderEvidence = evidenceOf('order');

function wholeSize(text: string): number {
  if (!/^[1-9]\d{0,11}$/.test(text)) throw new InvalidArgumentError('must be a whole number from 1');
  return Number(text);
}
