import { useState } from 'react';
import { client } from '../api/client.ts';
import { problemOf, problemText } from '../api/problem.ts';
import { useRead } from '../live-data/live-store.ts';
import { SettingsFrame } from '../settings/settings-frame.tsx';
import { Copy } from '../ui/copy.tsx';
import { Empty, Failed, Loading } from '../ui/faces.tsx';
import { Icon } from '../ui/icon.tsx';
import { Ago } from '../ui/moment.tsx';
import { saveFile } from '../ui/save-file.ts';
import { Facts, Note, Section } from '../ui/section.tsx';

/** The provable log: its newest checkpoint, its key, and a comparison with the database. */
export function LogPage() {
  const checkpoint = useRead(['log', 'checkpoint'], (signal) => client.getLogCheckpoint({ signal }));
  const key = useRead(['log', 'key'], (signal) => client.getLogKey({ signal }));
  return (
    <SettingsFrame title="Log">
      {checkpoint.data === undefined || key.data === undefined ? (
        <Unread error={checkpoint.error ?? key.error} onRetry={() => void checkpoint.refetch()} />
      ) : (
        <>
          <Checkpoint {...checkpoint.data} />
          <Section title="Key" note="verifies checkpoints and evidence">
            <p className="t2">
              Give it to auditors by another way than the evidence. A key inside evidence proves nothing.
            </p>
            <div className="well key-once topped">
              <code className="mono grow">{key.data.key}</code>
              <Copy text={key.data.key} quiet={false} />
            </div>
          </Section>
          <Verification />
        </>
      )}
    </SettingsFrame>
  );
}

function Unread({ error, onRetry }: { error: unknown; onRetry: () => void }) {
  if (error === null) return <Loading rows={6} />;
  if (problemOf(error).status === 404)
    return (
      <Empty title="The log is empty.">Its first checkpoint appears a few seconds after the first decision.</Empty>
    );
  return <Failed what="The log" error={error} onRetry={onRetry} />;
}

interface CheckpointProps {
  readonly size: number;
  readonly at: string;
  readonly note: string;
  readonly pending: number;
  readonly broken?: string | undefined;
}

function Checkpoint({ size, at, note, pending, broken }: CheckpointProps) {
  return (
    <Section
      first
      title="Checkpoint"
      note="the newest"
      link={
        <button
          type="button"
          className="b sm ml"
          onClick={() => saveFile(`checkpoint-${size}.txt`, 'text/plain', [note])}
        >
          Download checkpoint
        </button>
      }
    >
      {broken !== undefined && (
        <Note tone="bad" icon={<Icon name="warnt" size={14} />}>
          The log does not grow: {broken}
        </Note>
      )}
      <Facts
        facts={[
          ['Entries', size.toLocaleString('en')],
          ['Signed', <Ago key="a" at={at} />],
          ['Not in the log yet', pending.toLocaleString('en')],
        ]}
      />
      <p className="t2 topped">
        Keep one outside from time to time: later evidence must contain it, so the log cannot be rewritten unnoticed.
      </p>
      <section className="well topped" aria-label="Signed note">
        <pre>{note}</pre>
      </section>
    </Section>
  );
}

interface Checked {
  readonly checked: number;
  readonly size: number;
  readonly findings: readonly { readonly problem: string; readonly index?: number; readonly id?: string }[];
  readonly isDone: boolean;
}

/** Compares the log with the rows of the database, part by part, and stops at the first difference. */
function Verification() {
  const [state, setState] = useState<Checked>();
  const [problem, setProblem] = useState<string>();
  const isRunning = state !== undefined && !state.isDone;
  const run = async () => {
    setProblem(undefined);
    setState({ checked: 0, size: 0, findings: [], isDone: false });
    try {
      let checked = 0;
      type Part = Awaited<ReturnType<typeof client.verifyLog>>;
      for (let position: Part['next'] = { from: 0 }; position !== undefined; ) {
        const part: Part = await client.verifyLog({ body: position });
        checked += part.checked;
        position = part.findings.length > 0 ? undefined : part.next;
        setState({ checked, size: part.size, findings: part.findings, isDone: position === undefined });
      }
    } catch (error) {
      setProblem(problemText(error));
      setState(undefined);
    }
  };
  return (
    <Section
      title="Comparison with the database"
      link={
        <button
          type="button"
          className="b sm ml"
          aria-disabled={isRunning || undefined}
          onClick={() => !isRunning && void run()}
        >
          {isRunning ? 'Comparing' : 'Compare now'}
        </button>
      }
    >
      <div role="status" className="topped">
        {problem !== undefined && <span className="bad">{problem}</span>}
        {state === undefined ? (
          problem === undefined && (
            <span className="t3">
              Recomputes every entry from its row. Changed, deleted and inserted rows are found.
            </span>
          )
        ) : state.findings.length > 0 ? (
          <Findings findings={state.findings} />
        ) : (
          `${state.checked.toLocaleString('en')} of ${state.size.toLocaleString('en')} entries compared${state.isDone ? ': no difference.' : ' …'}`
        )}
      </div>
    </Section>
  );
}

const MAX_SHOWN = 20;

function Findings({ findings }: { findings: Checked['findings'] }) {
  return (
    <ul className="votes">
      {findings.slice(0, MAX_SHOWN).map(({ problem, index, id }) => (
        <li key={`${problem} ${index ?? ''} ${id ?? ''}`}>
          <span className="bad">
            <Icon name="warnt" size={14} />
          </span>
          <span>
            {problem.replaceAll('_', ' ')}
            {index !== undefined && `, entry ${index}`}
          </span>
          <span className="mono t3 clip">{id}</span>
        </li>
      ))}
    </ul>
  );
}
