import { Link, useNavigate } from '@tanstack/react-router';
import { visible, visibleName } from '../../../../libs/contracts/src/visible.ts';
import { client } from '../api/client.ts';
import type { RunDetail } from '../api/model.ts';
import { counted, shortId } from '../figures/figures.ts';
import { useRead } from '../live-data/live-store.ts';
import { actorOf, taskOf } from '../runs/run-task.ts';
import { openStop } from '../shell/stop.tsx';
import { shortClock } from '../time/zone.ts';
import { Act } from '../ui/act.tsx';
import { Copy } from '../ui/copy.tsx';
import { Icon } from '../ui/icon.tsx';
import { RunState, statusOf } from '../ui/marks.tsx';
import { Menu } from '../ui/menu.tsx';
import { Meters } from './meters.tsx';
import { type Step, wouldHave } from './story.ts';
import { useRunLabels } from './use-run.ts';

/** Head of the run page: status, controls and usage. */
export function RunHead({
  run,
  steps,
  enforced,
}: {
  run: RunDetail;
  steps: readonly Step[];
  /** Whether its calls are checked before they happen, so that limits can stop them. */
  enforced: boolean;
}) {
  const count = (state: Step['state']) => steps.filter((step) => step.state === state).length;
  const [blocked, waits] = [count('blocked'), count('waiting')];
  const shadow = steps.filter(wouldHave).length;
  const actor = actorOf(run);
  const labels = useRunLabels(run.id).data?.labels ?? [];
  return (
    <div className="hd">
      <div className="who">
        <bdi className="ttl clip">{visibleName(run.agentId)}</bdi>
        <RunState status={statusOf(run)} fill />
        {taskOf(run) !== '' && (
          <span className="not-s clip">
            <b>{visible(taskOf(run))}</b>
          </span>
        )}
        {actor !== undefined && (
          <span>
            for{' '}
            <Link to="/runs" search={{ actor }}>
              <b>{visibleName(actor)}</b>
            </Link>
          </span>
        )}
        {run.sessionId !== undefined && (
          <span className="not-s">
            session{' '}
            <Link to="/runs" search={{ session: run.sessionId }}>
              <b>{shortId(run.sessionId)}</b>
            </Link>
          </span>
        )}
        {run.parentRunId !== undefined && (
          <Link className="tag acc" to="/runs/$id" params={{ id: run.parentRunId }}>
            part of {shortId(run.parentRunId)}
          </Link>
        )}
        {blocked > 0 && <span className="tag bad">{blocked} blocked</span>}
        {waits > 0 && (
          <Link className="tag warn" to="/approvals">
            {waits} {waits === 1 ? 'waits' : 'wait'}
          </Link>
        )}
        {labels.map(({ label, source }) => (
          <Link
            key={label}
            className="tag warn"
            to="/runs/$id"
            params={{ id: run.id }}
            search={{ view: 'tree' } as never}
            title={`Label, first set by ${visibleName(source.toolName)} of ${visibleName(source.agentId)}`}
          >
            {label}
          </Link>
        ))}
        {shadow > 0 && <span className="tag ghost not-s">{counted(shadow, 'shadow hit')}</span>}
      </div>
      <div className="btns cb">
        <span className="row not-s">
          <bdi className="mono t3 run-id">{visibleName(run.id)}</bdi>
          <Copy text={run.id} label="Copy id" />
        </span>
        <CompareMenu run={run} />
        {run.status === 'running' && (
          <>
            {run.control.state === 'running' ? (
              <Act scope="admin" onPress={() => openStop({ runs: [run], state: 'paused' })}>
                <Icon name="pause" size={14} />
                Pause…
              </Act>
            ) : (
              <Act scope="admin" onPress={() => openStop({ runs: [run], state: 'running' })}>
                <Icon name="play" size={14} />
                Resume…
              </Act>
            )}
            <Act scope="admin" kind="danger" onPress={() => openStop({ runs: [run], state: 'killed' })}>
              <Icon name="s-killed" size={14} />
              Kill…
            </Act>
          </>
        )}
      </div>
      <Meters run={run} enforced={enforced} />
    </div>
  );
}

const COMPARABLE = 10;

/** Opens the comparison with another run of the agent. The chosen run is A, this one is B. */
function CompareMenu({ run }: { run: RunDetail }) {
  const navigate = useNavigate();
  const others = useRead(['runs', 'comparable', run.agentId], (signal) =>
    client.listRuns({ query: { agentId: run.agentId, limit: COMPARABLE + 1 }, signal }),
  ).data?.runs.filter(({ id }) => id !== run.id);
  if (others === undefined || others.length === 0) return null;
  return (
    <Menu
      label="Compare with another run of this agent"
      className="b"
      choices={others.slice(0, COMPARABLE).map((other) => ({
        id: other.id,
        name: `${shortId(other.id)} ${visible(taskOf(other))}`,
        hint: shortClock(other.startedAt),
      }))}
      onChoose={(id) => void navigate({ to: '/runs/compare', search: { a: id, b: run.id } })}
    >
      Compare…
    </Menu>
  );
}
