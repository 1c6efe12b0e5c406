import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { visible, visibleName } from '../../../../libs/contracts/src/visible.ts';
import { client } from '../api/client.ts';
import type { Alert } from '../api/model.ts';
import { DECIDED } from '../approvals/decided.ts';
import { WhoWasNotified } from '../channels/who-was-notified.tsx';
import { limitsFor } from '../breakers/limits.ts';
import { LimitsDialog } from '../breakers/limits-dialog.tsx';
import { ResetDialog } from '../breakers/reset-dialog.tsx';
import { useLimits } from '../breakers/use-limits.ts';
import { counted, shortId } from '../figures/figures.ts';
import { useRead } from '../live-data/live-store.ts';
import { useSteady } from '../live-data/steady.ts';
import { Page } from '../shell/page.tsx';
import { openStop } from '../shell/stop.tsx';
import { bounds, rangeName } from '../time/range.ts';
import { Act } from '../ui/act.tsx';
import { type Column, DataTable } from '../ui/data-table.tsx';
import { Empty, Failed, FilteredEmpty, Loading } from '../ui/faces.tsx';
import { FilterChip, NewRows } from '../ui/filters.tsx';
import { Icon } from '../ui/icon.tsx';
import { State } from '../ui/marks.tsx';
import { Moment } from '../ui/moment.tsx';
import { SavedViews } from '../ui/saved-views.tsx';
import { Facts } from '../ui/section.tsx';
import { toast, toastError } from '../ui/toast.tsx';
import { useListSearch } from '../ui/use-list-search.ts';
import { usePages } from '../ui/use-pages.ts';
import { stringifySearch } from '../url/search.ts';

type Name = 'status' | 'kind' | 'agent' | 'id' | 'range' | 'from' | 'to';
const STATES = [
  { id: 'pending', name: 'Open' },
  { id: 'acknowledged', name: 'Seen' },
  { id: 'approved,denied,expired,cancelled', name: 'Over' },
] as const;
const KINDS = [
  { id: 'rule', name: 'Rules' },
  { id: 'breaker', name: 'Breakers' },
  { id: 'spend', name: 'Spend' },
  { id: 'approval', name: 'Approvals' },
  { id: 'security', name: 'Security' },
  { id: 'change', name: 'Changes' },
] as const;
const DEFAULT = '7d';
/** Stands for the agent of an alert that is not about one. */
const ALL_AGENTS = 'all-agents';
const idOf = (alert: Alert) => alert.id;

const MARKS = {
  rule: { icon: 'alerts', tone: 'waiting', word: 'Rule' },
  breaker: { icon: 'breakers', tone: 'block', word: 'Breaker' },
  approval: { icon: 'approvals', tone: 'ask', word: 'Approval' },
  spend: { icon: 'spend', tone: 'waiting', word: 'Spend' },
  security: { icon: 'alerts', tone: 'block', word: 'Security' },
  change: { icon: 'alerts', tone: 'waiting', word: 'Change' },
};

function stateOf(alert: Alert) {
  if (alert.kind === 'approval') return DECIDED[alert.status];
  if (alert.status === 'pending') return { icon: 's-waiting', tone: 'waiting', word: 'Open' };
  if (alert.status === 'acknowledged') return { icon: 's-succeeded', tone: 'succeeded', word: 'Acknowledged' };
  return { icon: 's-cancelled', tone: 'cancelled', word: alert.status === 'expired' ? 'Expired' : 'Closed' };
}

export function AlertsPage() {
  const { search, change, clear } = useListSearch<Name>();
  const [following, setFollowing] = useState(true);
  const range = search.range ?? DEFAULT;
  const key = stringifySearch({ ...search, id: undefined });
  const query = {
    status: search.status,
    kind: search.kind,
    agentId: search.agent,
    ...bounds({ ...search, range }),
    limit: 100,
  };
  const list = usePages(
    ['alerts', key],
    (cursor, signal) => client.listAlerts({ query: { ...query, cursor }, signal }),
    ({ alerts }) => alerts,
  );
  const { rows, waiting, showNew } = useSteady(list.rows ?? [], idOf, key, following);
  const listed = rows.find(({ id }) => id === search.id);
  // A link in a message may lead to an alert that this list leaves out.
  const isElsewhere = search.id !== undefined && listed === undefined && list.rows !== undefined;
  const { id = '' } = search;
  const linked = useRead(['alerts', 'one', id], (signal) => client.getAlert({ params: { id }, signal }), isElsewhere);
  const chosen = listed ?? (isElsewhere ? linked.data : undefined);
  return (
    <Page
      name="alerts"
      title="Alerts"
      range={{ value: { ...search, range }, set: (next) => change({ range: next === DEFAULT ? undefined : next }) }}
      stop={chosen === undefined || chosen.agentId === ALL_AGENTS ? {} : { agentId: chosen.agentId }}
    >
      <div className="bar0">
        <div className="seg" role="group" aria-label="State">
          <button
            type="button"
            aria-pressed={search.status === undefined}
            onClick={() => change({ status: undefined })}
          >
            All
          </button>
          {STATES.map(({ id, name }) => (
            <button key={id} type="button" aria-pressed={search.status === id} onClick={() => change({ status: id })}>
              {name}
            </button>
          ))}
        </div>
        <FilterChip name="From" value={search.kind} choices={KINDS} onChange={(kind) => change({ kind })} />
        <FilterChip
          name="Agent"
          value={search.agent}
          choices={[...new Set(rows.map(({ agentId }) => agentId))].map((id) => ({ id, name: id }))}
          onChange={(agent) => change({ agent })}
        />
        <span className="sp" />
        <SavedViews page="alerts" />
        <NewRows waiting={waiting} onShow={showNew} />
      </div>
      {list.rows === undefined ? (
        list.error === null ? (
          <Loading rows={14} />
        ) : (
          <Failed what="Alerts" error={list.error} onRetry={() => void list.refetch()} />
        )
      ) : rows.length > 0 || chosen !== undefined ? (
        <div className={chosen === undefined || rows.length === 0 ? 'list' : 'with-side'}>
          {rows.length > 0 && (
            <DataTable
              label="Alerts"
              rows={rows}
              columns={chosen === undefined ? COLUMNS : BESIDE_PANEL}
              idOf={idOf}
              current={chosen?.id}
              onOpen={(alert) => change({ id: alert.id })}
              onEnd={list.more}
              onFollowing={setFollowing}
              rowHeight={34}
              narrow={(alert) => <Narrow alert={alert} />}
            />
          )}
          {chosen !== undefined && <AlertPanel alert={chosen} onClose={() => change({ id: undefined })} />}
        </div>
      ) : (
        <div className="pad">
          {search.status !== undefined || search.kind !== undefined || search.agent !== undefined ? (
            <FilteredEmpty
              what={`alerts in the ${rangeName({ range }).toLowerCase()}`}
              filter={stringifySearch({ status: search.status, kind: search.kind, agent: search.agent }).slice(1)}
              onClear={clear}
            />
          ) : (
            <Empty
              title={`No alerts in the ${rangeName({ range }).toLowerCase()}.`}
              act={
                <Link className="b" to="/guardrails/new">
                  Create a rule that raises alerts
                </Link>
              }
            >
              Rules, breakers and calls that need approval raise alerts.
            </Empty>
          )}
        </div>
      )}
    </Page>
  );
}

function Narrow({ alert }: { alert: Alert }) {
  return (
    <>
      <span className="row">
        <State mark={stateOf(alert)} />
        <span className="ml t3">
          <Moment at={alert.createdAt} short />
        </span>
      </span>
      <span className="clip strong">{visible(alert.title)}</span>
      <span className="clip t2">
        {visibleName(alert.agentId)} <span className="t3">{visible(messageOf(alert))}</span>
      </span>
    </>
  );
}

const COLUMNS: readonly Column<Alert>[] = [
  { id: 'state', head: 'State', width: '150px', cell: (alert) => <State mark={stateOf(alert)} /> },
  { id: 'kind', head: 'From', width: '112px', cell: (alert) => <State mark={{ ...MARKS[alert.kind], tone: 'no' }} /> },
  {
    id: 'title',
    head: 'Alert',
    width: 'minmax(160px, 2fr)',
    cell: (alert) => (
      <>
        <span className="strong">{visible(alert.title)}</span> <bdi className="t3">{visible(messageOf(alert))}</bdi>
      </>
    ),
  },
  {
    id: 'agent',
    head: 'Agent',
    width: 'minmax(90px, 0.7fr)',
    cell: (alert) => <bdi>{visibleName(alert.agentId)}</bdi>,
  },
  {
    id: 'again',
    head: 'Again',
    width: '70px',
    right: true,
    cell: (alert) => (
      <span className="num t2" title="Repeats while it was open">
        {alert.suppressed ?? ''}
      </span>
    ),
  },
  { id: 'at', head: 'Raised', width: '132px', right: true, cell: (alert) => <Moment at={alert.createdAt} /> },
];

/** Beside the panel there is room for what tells alerts apart, and for when. */
const BESIDE_PANEL = COLUMNS.filter(({ id }) => id !== 'agent' && id !== 'again');

function AlertPanel({ alert, onClose }: { alert: Alert; onClose: () => void }) {
  const queries = useQueryClient();
  const act = async (verb: 'acknowledge' | 'cancel') => {
    try {
      await (verb === 'acknowledge' ? client.acknowledgeAlert : client.cancelAlert)({
        params: { id: alert.id },
        body: {},
      });
      await queries.invalidateQueries();
      toast(verb === 'acknowledge' ? 'Acknowledged' : 'Closed');
    } catch (error) {
      toastError('Not done', error);
    }
  };
  const open = alert.status === 'pending' || alert.status === 'acknowledged';
  return (
    <aside className="side-panel" aria-label="Alert">
      <div className="row">
        <h2 className="strong grow">{visible(alert.title)}</h2>
        <button type="button" className="b quiet ico sm" aria-label="Close" onClick={onClose}>
          <Icon name="x" size={14} />
        </button>
      </div>
      <p className="plain t2">{visible(messageOf(alert))}</p>
      <Facts
        facts={[
          ['State', <State key="s" mark={stateOf(alert)} />],
          [
            'Agent',
            alert.agentId === ALL_AGENTS ? (
              'all agents'
            ) : (
              <Link key="a" className="link" to="/agents/$id" params={{ id: alert.agentId }}>
                {visibleName(alert.agentId)}
              </Link>
            ),
          ],
          alert.runId !== undefined && [
            'Run',
            <Link key="r" className="link mono" to="/runs/$id" params={{ id: alert.runId }}>
              {shortId(alert.runId)}
            </Link>,
          ],
          alert.ruleId !== undefined && [
            'Rule',
            <Link key="u" className="link" to="/guardrails/$id" params={{ id: alert.ruleId }}>
              Open rule
            </Link>,
          ],
          ['Raised', <Moment key="c" at={alert.createdAt} />],
          alert.acknowledgedAt !== undefined && [
            'Acknowledged',
            <span key="k">
              <Moment at={alert.acknowledgedAt} /> by {visibleName(alert.acknowledgedBy ?? 'unknown')}
            </span>,
          ],
          alert.decidedAt !== undefined && [
            'Ended',
            <span key="d">
              <Moment at={alert.decidedAt} /> {alert.decidedBy !== undefined && `by ${visibleName(alert.decidedBy)}`}
            </span>,
          ],
          alert.reason !== undefined && ['Reason', visible(alert.reason)],
          alert.suppressed !== undefined && ['Repeats', counted(alert.suppressed, 'time')],
        ]}
      />
      <div className="btns">
        {alert.kind === 'approval' && open ? (
          <Link className="b pri" to="/approvals" search={{ id: alert.id }}>
            Review
          </Link>
        ) : (
          <>
            {alert.kind === 'breaker' && open && <BreakerActs alert={alert} />}
            {alert.status === 'pending' && (
              <Act
                scope="review"
                // Raising the limit is what ends an alert of a breaker.
                {...(alert.kind === 'breaker' ? {} : { kind: 'pri' })}
                onPress={() => void act('acknowledge')}
              >
                Acknowledge
              </Act>
            )}
            {open && (
              <Act scope="review" onPress={() => void act('cancel')}>
                Close alert
              </Act>
            )}
          </>
        )}
      </div>
      <WhoWasNotified alertId={alert.id} isOpen={open} />
    </aside>
  );
}

/** Where the message of a breaker goes on with commands, which the buttons replace here. */
const COMMANDS = ' To raise it, which closes the breaker:';

function messageOf({ kind, message }: Alert): string {
  return kind === 'breaker' ? (message.split(COMMANDS)[0] ?? message) : message;
}

/** Ways out of an open breaker. */
function BreakerActs({ alert }: { alert: Alert }) {
  const [dialog, setDialog] = useState<'raise' | 'reset'>();
  const limits = useLimits();
  const close = () => setDialog(undefined);
  const ofTree = alert.message.includes('/api/breakers/tree/');
  const breaker =
    alert.runId === undefined
      ? { scope: 'agent' as const, scopeId: alert.agentId }
      : { scope: ofTree ? ('tree' as const) : ('run' as const), scopeId: alert.runId };
  return (
    <>
      <Act scope="admin" kind="pri" onPress={() => setDialog('raise')}>
        Raise limit…
      </Act>
      <Act scope="admin" onPress={() => setDialog('reset')}>
        Reset…
      </Act>
      <Act scope="admin" onPress={() => openStop({ agentId: alert.agentId, state: 'paused' })}>
        Pause…
      </Act>
      {dialog === 'raise' && limits.data !== undefined && (
        <LimitsDialog
          defaults={limitsFor(ofTree ? 'tree' : { agentId: alert.agentId }, limits.data)}
          agentId={alert.agentId}
          {...(ofTree ? { scope: 'tree' } : {})}
          onClose={close}
        />
      )}
      {dialog === 'reset' && <ResetDialog breaker={breaker} onClose={close} />}
    </>
  );
}
