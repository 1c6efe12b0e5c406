import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { visibleName } from '../../../../libs/contracts/src/visible.ts';
import { client } from '../api/client.ts';
import type { RunLabel } from '../api/model.ts';
import { counted, duration, shortId } from '../figures/figures.ts';
import { Act } from '../ui/act.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Read } from '../ui/faces.tsx';
import { FailureLine } from '../ui/failure-line.tsx';
import { ReasonField, useRejection } from '../ui/field.tsx';
import { RunState, statusOf } from '../ui/marks.tsx';
import { Ago } from '../ui/moment.tsx';
import { Section } from '../ui/section.tsx';
import { toast } from '../ui/toast.tsx';
import { costWords } from './measured.ts';
import { useRunLabels, useRunTree } from './use-run.ts';

/** The whole tree of a run with its cost, and the labels that stand on it. */
export function RunTree({ id }: { id: string }) {
  const labels = useRunLabels(id);
  return (
    <div className="run-tree">
      <Read read={labels} what="The labels of this tree" rows={2}>
        {(data) => (
          <>
            <Labels runId={id} labels={data.labels} />
            <Runs root={data.root} current={id} />
          </>
        )}
      </Read>
    </div>
  );
}

function Labels({ runId, labels }: { runId: string; labels: readonly RunLabel[] }) {
  const [clearing, setClearing] = useState<string>();
  return (
    <Section title="Labels" note="on the whole tree" first>
      {labels.length === 0 && (
        <p className="t2">No labels. A rule about data flow sets one when a call reads its data.</p>
      )}
      <ul className="labels">
        {labels.map(({ label, source }) => (
          <li key={label}>
            <span className="tag warn">{label}</span>
            <span>
              first set by <bdi className="mono">{visibleName(source.toolName)}</bdi> of{' '}
              <bdi>{visibleName(source.agentId)}</bdi> in{' '}
              <Link to="/runs/$id" params={{ id: source.runId }} search={{ step: source.callId }}>
                {shortId(source.runId)}
              </Link>
              , <Ago at={source.at} />
            </span>
            <Act scope="review" kind="sm" label={`Clear the label ${label}`} onPress={() => setClearing(label)}>
              Clear…
            </Act>
          </li>
        ))}
      </ul>
      {clearing !== undefined && (
        <ClearLabel key={clearing} runId={runId} label={clearing} onClose={() => setClearing(undefined)} />
      )}
    </Section>
  );
}

function ClearLabel({ runId, label, onClose }: { runId: string; label: string; onClose: () => void }) {
  const queries = useQueryClient();
  const rejection = useRejection();
  const [reason, setReason] = useState('');
  const [busy, setBusy] = useState(false);
  const ready = reason.trim() !== '' && !busy;
  const clear = async () => {
    setBusy(true);
    rejection.clear();
    try {
      await client.clearRunLabel({ params: { id: runId, label }, body: { reason: reason.trim() } });
      await queries.invalidateQueries({ queryKey: ['labels'] });
      toast(`The label ${label} is cleared`);
      onClose();
    } catch (error) {
      rejection.set(error);
      setBusy(false);
    }
  };
  return (
    <Dialog
      title={`Clear the label ${label}?`}
      open
      onClose={onClose}
      acts={
        <>
          <button type="button" className="b" onClick={onClose}>
            Keep it
          </button>
          <button
            type="button"
            className="b danger solid"
            aria-disabled={!ready || undefined}
            onClick={() => ready && void clear()}
          >
            {busy ? 'Clearing' : 'Clear label'}
          </button>
        </>
      }
    >
      <div className="kd">
        <p>Rules about this label no longer match in any run of the tree, until a call sets it again.</p>
        <ReasonField
          label="Why; recorded in the audit log"
          value={reason}
          wrong={rejection.at('reason')}
          onChange={setReason}
        />
        <FailureLine>{rejection.besides('reason')}</FailureLine>
      </div>
    </Dialog>
  );
}

function Runs({ root, current }: { root: string; current: string }) {
  const tree = useRunTree(root);
  return (
    <Section
      title="Runs"
      note={tree.data && `${tree.data.truncated ? 'first ' : ''}${counted(tree.data.runs.length, 'run')}`}
    >
      <Read read={tree} what="The run tree" rows={6}>
        {({ runs: [top, ...below], truncated }) => (
          <>
            <table className="tb flush l">
              <thead>
                <tr>
                  <th>Run</th>
                  <th>Status</th>
                  <th className="r not-s">Took</th>
                  <th className="r">Own cost $</th>
                  <th className="r">With sub-runs $</th>
                </tr>
              </thead>
              <tbody>
                {(top === undefined ? [] : [top, ...below]).map((run) => (
                  <tr key={run.id} className={run.id === current ? 'sel' : ''}>
                    <td style={{ paddingLeft: `${Math.min(run.depth, 8) * 16}px` }}>
                      <Link
                        to="/runs/$id"
                        params={{ id: run.id }}
                        search={{ view: 'tree' }}
                        aria-current={run.id === current ? 'page' : undefined}
                      >
                        <bdi>{visibleName(run.agentId)}</bdi> <span className="mono t3">{shortId(run.id)}</span>
                      </Link>
                    </td>
                    <td>
                      <RunState status={statusOf(run)} />
                    </td>
                    <td className="r num not-s">{duration(run.durationMs)}</td>
                    <td className="r num">{costWords(run.totals)}</td>
                    <td className="r num">{run.childCount === 0 ? '' : costWords(run.rolledUp)}</td>
                  </tr>
                ))}
              </tbody>
              {top !== undefined && (
                <tfoot>
                  <tr>
                    <th scope="row">Total</th>
                    <td />
                    <td className="not-s" />
                    <td />
                    <td className="r num">
                      <b>{costWords(top.rolledUp)}</b>
                    </td>
                  </tr>
                </tfoot>
              )}
            </table>
            {truncated && <p className="t2">The tree has more than 1,000 runs or 20 levels. The total is a minimum.</p>}
          </>
        )}
      </Read>
    </Section>
  );
}
