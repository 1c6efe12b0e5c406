import { Link } from '@tanstack/react-router';
import { visibleName } from '../../../../libs/contracts/src/visible.ts';
import { client } from '../api/client.ts';
import type { Alert } from '../api/model.ts';
import { problemOf } from '../api/problem.ts';
import { shortId } from '../figures/figures.ts';
import { useRead } from '../live-data/live-store.ts';
import { useNowRead } from '../shell/nav.tsx';
import { Page } from '../shell/page.tsx';
import { Empty, Failed, Loading } from '../ui/faces.tsx';
import { TimeLeft } from '../ui/gauge.tsx';
import { State } from '../ui/marks.tsx';
import { Countdown, Moment, URGENT_MS, useNow } from '../ui/moment.tsx';
import { useListSearch } from '../ui/use-list-search.ts';
import { ApprovalCard } from './approval-card.tsx';
import { callInMessage, inOneLine } from './call-in-message.ts';
import { DECIDED } from './decided.ts';
import './approvals.css';

const SHOWN_DECIDED = 20;

export function ApprovalsPage() {
  const waiting = useNowRead();
  const decided = useRead(['alerts', 'decided'], (signal) =>
    client.listAlerts({
      query: { kind: 'approval', status: 'approved,denied,expired,cancelled', limit: SHOWN_DECIDED },
      signal,
    }),
  );
  const { search, change } = useListSearch<'id'>();
  const queue = waiting.data?.approvals ?? [];
  const named = useRead(
    ['alerts', 'one', search.id],
    (signal) => client.getAlert({ params: { id: search.id ?? '' }, signal }),
    search.id !== undefined && !queue.some(({ id }) => id === search.id),
  );
  const chosen = search.id === undefined ? queue[0] : (queue.find(({ id }) => id === search.id) ?? named.data);
  const at = queue.findIndex(({ id }) => id === chosen?.id);
  const choose = (id: string | undefined) => change({ id });
  return (
    <Page
      name="approvals"
      title="Approvals"
      time="Now"
      stop={chosen?.runId === undefined ? {} : { runs: [{ id: chosen.runId, agentId: chosen.agentId }] }}
    >
      <section className="que" aria-label="Queue, soonest expiry first">
        <div className="sech">
          <h2>Waiting</h2>
          <span className="n">{queue.length}</span>
        </div>
        <ul>
          {queue.map((alert) => (
            <li key={alert.id}>
              <QueueItem alert={alert} on={alert.id === chosen?.id} onChoose={() => choose(alert.id)} />
            </li>
          ))}
        </ul>
        {queue.length === 0 && <p className="hint quiet">No approvals waiting.</p>}
        <div className="sech second">
          <h2>Decided</h2>
          <Link to="/alerts" search={{ kind: 'approval', status: 'approved,denied,expired,cancelled' }}>
            All
          </Link>
        </div>
        {(decided.data?.alerts ?? []).map((alert) => (
          <button key={alert.id} type="button" className="dq" onClick={() => choose(alert.id)}>
            <State mark={DECIDED[alert.status]} wordless />
            <span className="clip">
              <span className="mono">{visibleName(alert.approval?.toolName ?? '')}</span>{' '}
              {inOneLine(callInMessage(alert.message))}
            </span>
            <span className="ml num">
              <Moment at={alert.decidedAt ?? alert.createdAt} short />
            </span>
          </button>
        ))}
        {decided.data?.alerts.length === 0 && <p className="hint quiet">No decisions yet.</p>}
      </section>
      {chosen !== undefined ? (
        <ApprovalCard
          key={chosen.id}
          alert={chosen}
          position={
            at < 0 ? undefined : { at, of: queue.length, next: () => choose(queue[(at + 1) % queue.length]?.id) }
          }
          onDecided={() => choose(undefined)}
        />
      ) : search.id !== undefined && named.error !== null ? (
        <NotFound id={search.id} error={named.error} onShowQueue={() => choose(undefined)} />
      ) : waiting.data === undefined || search.id !== undefined ? (
        waiting.error === null ? (
          <Loading rows={10} />
        ) : (
          <Failed what="Approvals" error={waiting.error} onRetry={() => void waiting.refetch()} />
        )
      ) : (
        <div className="pad">
          <Empty
            title="No approvals waiting."
            act={
              <Link className="b" to="/guardrails" search={{ action: 'require_approval' }}>
                Show rules that need approval
              </Link>
            }
          >
            Calls that need approval appear here.
          </Empty>
        </div>
      )}
    </Page>
  );
}

/** Another approval in its place could be decided by mistake. */
function NotFound({ id, error, onShowQueue }: { id: string; error: Error; onShowQueue: () => void }) {
  const problem = problemOf(error);
  return (
    <div className="pad">
      <Empty
        title={
          problem.status === 404
            ? `There is no approval with the id ${visibleName(id)}.`
            : `The approval ${visibleName(id)} could not be loaded.`
        }
        act={
          <button type="button" className="b" onClick={onShowQueue}>
            Show what is waiting
          </button>
        }
      >
        {problem.status === 404 ? 'It may have been deleted with its run.' : problem.message}
      </Empty>
    </div>
  );
}

function QueueItem({ alert, on, onChoose }: { alert: Alert; on: boolean; onChoose: () => void }) {
  const now = useNow();
  const left = alert.expiresAt === undefined ? undefined : Date.parse(alert.expiresAt) - now;
  const whole = alert.expiresAt === undefined ? 1 : Date.parse(alert.expiresAt) - Date.parse(alert.createdAt);
  return (
    <button type="button" className={`qi ${on ? 'on' : ''}`} aria-current={on || undefined} onClick={onChoose}>
      <span className="row">
        <span className="mono strong clip">{visibleName(alert.approval?.toolName ?? alert.title)}</span>
        <span className="ml">{alert.expiresAt !== undefined && <Countdown until={alert.expiresAt} />}</span>
      </span>
      <span className="clip t2">{inOneLine(callInMessage(alert.message))}</span>
      <span className="t3 clip">
        {visibleName(alert.agentId)}
        {alert.runId !== undefined && `, run ${shortId(alert.runId)}`}
      </span>
      <TimeLeft share={(left ?? whole) / whole} urgent={left !== undefined && left <= URGENT_MS} />
    </button>
  );
}
