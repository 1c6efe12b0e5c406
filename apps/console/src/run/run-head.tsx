import { Link, useNavigate } from '@tanstack/react-router';
import { visible, visibleName } from '../../../../libs/contracts/src/visible.ts';
import { client } from '../api/client.ts';
import type { RunDetail } from '../api/model.ts';
import { counted, shortId } from '../figures/figures.ts';
import { useRead } from '../live-data/live-store.ts';
import { ProofButton } from '../log/proof.tsx';
import { aboutRun, actorOf, taskOf } from '../runs/run-task.ts';
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
  const [actor, task] = [actorOf(run), taskOf(run)];
  const labels = useRunLabels(run.id).data?.labels ?? [];
  return (
    <div className="hd">
      <div className="who">
        <bdi className="ttl clip">{visibleName(run.agentId)}</bdi>
        <RunState status={statusOf(run)} fill />
        {task !== undefined && (
          <span className="not-s clip">
            <b>{visible(task)}</b>
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
        {run.endedBy === null ? <HeldBy run={run} /> : <EndedBy by={run.endedBy} run={run} steps={steps} />}
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
            search={{ view: 'tree' }}
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
        <ProofButton kind="run" id={run.id} className="b" />
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

/** What ended the run; opens the call that was refused. */
function EndedBy({
  by: { decisionId, ruleId, message, at },
  run,
  steps,
}: {
  by: NonNullable<RunDetail['endedBy']>;
  run: RunDetail;
  steps: readonly Step[];
}) {
  const step = steps.find(({ decision }) => decision?.id === decisionId)?.id;
  return (
    <span className="clip" title={`${visible(message)} (${shortClock(at)})`}>
      by{' '}
      <Link to="/runs/$id" params={{ id: run.id }} search={{ step }}>
        <b>{visible(message)}</b>
      </Link>
      {ruleId !== undefined && (
        <>
          {' '}
          <Link to="/guardrails/$id" params={{ id: ruleId }}>
            rule
          </Link>
        </>
      )}
    </span>
  );
}

const STATE_WORDS = { paused: 'Paused', killed: 'Killed', breaker_open: 'Breaker open' } as const;

/** The order, rule or breaker that holds the run, also if nothing was refused yet. */
function HeldBy({ run: { control } }: { run: RunDetail }) {
  if (control.state === 'running') return null;
  const by = control.by === undefined ? '' : ` by ${visible(control.by)}`;
  const reason = control.reason === undefined ? '' : `: ${visible(control.reason)}`;
  const text = `${STATE_WORDS[control.state]}${by}${reason}`;
  return (
    <span className="clip" title={control.since === undefined ? text : `${text} (${shortClock(control.since)})`}>
      {control.source === 'breaker' ? <Link to="/breakers">{text}</Link> : text}
    </span>
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
        name: `${shortId(other.id)} ${visible(aboutRun(other))}`,
        hint: shortClock(other.startedAt),
      }))}
      onChoose={(id) => void navigate({ to: '/runs/compare', search: { a: id, b: run.id } })}
    >
      Compare…
    </Menu>
  );
}
