import { Link } from '@tanstack/react-router';
import type { RunDetail } from '../api/model.ts';
import { counted, shortId } from '../figures/figures.ts';
import { actorOf, taskOf } from '../runs/run-words.ts';
import { openStop } from '../shell/stop.tsx';
import { Act } from '../ui/act.tsx';
import { Icon } from '../ui/icon.tsx';
import { RunState, statusOf } from '../ui/marks.tsx';
import { Meters } from './meters.tsx';
import { type Step, wouldHave } from './story.ts';

/** What the run is, what can be done to it, and what it has used. */
export function RunHead({ run, steps }: { run: RunDetail; steps: readonly Step[] }) {
  const count = (state: Step['state']) => steps.filter((step) => step.state === state).length;
  const [blocked, waits] = [count('blocked'), count('waiting')];
  const shadow = steps.filter(wouldHave).length;
  const actor = actorOf(run);
  return (
    <div className="hd">
      <div className="who">
        <bdi className="ttl clip">{run.agentId}</bdi>
        <RunState status={statusOf(run)} fill />
        {taskOf(run) !== '' && (
          <span className="not-s clip">
            for <b>{taskOf(run)}</b>
          </span>
        )}
        {actor !== undefined && (
          <span>
            asked by{' '}
            <Link to="/runs" search={{ actor }}>
              <b>{actor}</b>
            </Link>
          </span>
        )}
        {run.sessionId !== undefined && (
          <span className="not-s">
            session{' '}
            <Link to="/runs" search={{ session: run.sessionId }}>
              <b>{run.sessionId}</b>
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
        {shadow > 0 && <span className="tag ghost not-s">{counted(shadow, 'shadow hit')}</span>}
      </div>
      <div className="btns cb">
        {run.status === 'running' ? (
          <Act scope="admin" onPress={() => openStop({ runs: [run], state: 'paused' })}>
            <Icon name="pause" size={14} />
            Pause…
          </Act>
        ) : null}
        <Act scope="admin" onPress={() => openStop({ runs: [run], state: 'running' })} kind="more">
          <Icon name="play" size={14} />
          Resume…
        </Act>
        <Act scope="admin" kind="danger" onPress={() => openStop({ runs: [run], state: 'killed' })}>
          <Icon name="s-killed" size={14} />
          Kill…
        </Act>
      </div>
      <Meters run={run} />
    </div>
  );
}
