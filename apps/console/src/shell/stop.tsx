import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { visibleName } from '../../../../libs/contracts/src/visible.ts';
import { client } from '../api/client.ts';
import type { OrderAnswer, OrderBody, Run } from '../api/model.ts';
import { counted, shortId } from '../figures/figures.ts';
import { useRead } from '../live-data/live-store.ts';
import { coveredWords, MAX_COUNTED_RUNS } from '../run/tree.ts';
import { shortClock } from '../time/zone.ts';
import { Dialog } from '../ui/dialog.tsx';
import { FailureLine } from '../ui/failure-line.tsx';
import { Field, ReasonField, useRejection } from '../ui/field.tsx';
import { openable } from '../ui/opened.ts';
import { useMay, useMe } from './me.tsx';
import { Ordered } from './stop-result.tsx';

type StopState = 'killed' | 'paused' | 'running';

/** Initial state of the dialog. */
export interface StopTarget {
  readonly runs?: readonly { readonly id: string; readonly agentId: string }[];
  readonly agentId?: string;
  readonly state?: StopState;
}

const stop = openable<StopTarget>();

/** Opens the Stop dialog with the scope of the current page. */
export function openStop(target: StopTarget = {}): void {
  stop.open(target);
}

export function StopDialog() {
  const target = stop.use();
  // A new dialog each time, so that no input is left over.
  return target === undefined ? null : <Stopping key={JSON.stringify(target)} target={target} />;
}

/** How long to wait for acknowledgements. */
const WAIT_MS = 3_000;

/** Runs that can be chosen on a page of no run. */
const MAX_LISTED = 100;

type Scope = 'run' | 'agent' | 'tenant';

const VERB = { killed: 'Kill', paused: 'Pause', running: 'Resume' };
const PAST = { killed: 'killed', paused: 'paused', running: 'resumed' };
const KEEP = { killed: 'Keep it running', paused: 'Keep it running', running: 'Cancel' };

function Stopping({ target }: { target: StopTarget }) {
  const me = useMe();
  const { may, why } = useMay('admin');
  const queries = useQueryClient();
  const agents = useRead(['agents', 'names'], (signal) => client.listAgents({ query: { limit: 100 }, signal }));
  const [state, setState] = useState<StopState>(target.state ?? 'paused');
  const [scope, setScope] = useState<Scope>(target.runs === undefined ? 'agent' : 'run');
  const [agentId, setAgentId] = useState(target.agentId ?? target.runs?.[0]?.agentId ?? '');
  const [runId, setRunId] = useState('');
  const listed = useListed(state, target);
  const runs = target.runs ?? listed.filter(({ id }) => id === runId);
  const [reason, setReason] = useState('');
  const [typed, setTyped] = useState('');
  const [done, setDone] = useState<readonly OrderAnswer[]>();
  const rejection = useRejection();
  const [isTried, setIsTried] = useState(false);
  const [busy, setBusy] = useState(false);

  const hit = useHit(scope, runs, agentId);
  const name = scope === 'tenant' ? me.tenantId : scope === 'agent' ? agentId || 'an agent' : nameRuns(runs);
  const mustType = state === 'killed' && scope !== 'run' ? name : undefined;
  const ready =
    may &&
    !busy &&
    reason.trim() !== '' &&
    (scope !== 'agent' || agentId !== '') &&
    (scope !== 'run' || runs.length > 0) &&
    (mustType === undefined || typed === mustType);

  const order = async () => {
    setBusy(true);
    rejection.clear();
    const said = { state, reason: reason.trim(), waitMs: WAIT_MS };
    const bodies: OrderBody[] =
      scope === 'run'
        ? runs.map(({ id }) => ({ scope, id, ...said }))
        : scope === 'agent'
          ? [{ scope, id: agentId, ...said }]
          : [{ scope, ...said }];
    try {
      const answers: OrderAnswer[] = [];
      for (const body of bodies) answers.push(await client.createOrder({ body }));
      setDone(answers);
      await queries.invalidateQueries();
    } catch (cause) {
      rejection.set(cause);
    } finally {
      setBusy(false);
    }
  };

  if (done !== undefined)
    return (
      <Ordered name={name} done={PAST[state]} isResumed={state === 'running'} answers={done} onClose={stop.close} />
    );
  return (
    <Dialog
      title={`${VERB[state]} ${name}?`}
      open
      onClose={stop.close}
      acts={
        <>
          <button type="button" className="b" onClick={stop.close}>
            {KEEP[state]}
          </button>
          <button
            type="button"
            className={`b ${state === 'running' ? 'pri' : 'danger solid'}`}
            aria-disabled={!ready || undefined}
            title={why}
            onClick={() => {
              setIsTried(true);
              if (ready) void order();
            }}
          >
            {busy ? 'Waiting for acknowledgements' : `${VERB[state]} ${name}`}
          </button>
        </>
      }
    >
      <div className="kd">
        <div className="seg" role="group" aria-label="What to do">
          {(['paused', 'killed', 'running'] as const).map((one) => (
            <button key={one} type="button" aria-pressed={state === one} onClick={() => setState(one)}>
              {VERB[one]}
            </button>
          ))}
        </div>
        <fieldset className="rds">
          <legend className="vh">What to {VERB[state].toLowerCase()}</legend>
          <Radio
            on={scope === 'run'}
            onChoose={() => setScope('run')}
            name={runs.length > 1 ? `${runs.length} runs and sub-runs` : 'One run and sub-runs'}
            note={scope === 'run' ? hit : ''}
          />
          {scope === 'run' && target.runs === undefined && (
            <Field
              label="Run"
              wrong={isTried && runs.length === 0 ? 'Choose a run.' : rejection.at('id')}
              hint={listed.length < MAX_LISTED ? undefined : `The ${MAX_LISTED} newest. To stop another one, open it.`}
            >
              {(input) => (
                <select {...input} value={runId} onChange={(event) => setRunId(event.target.value)}>
                  <option value="">{listed.length === 0 ? 'No run in progress' : 'Choose a run'}</option>
                  {listed.map(({ id, agentId: agent, startedAt }) => (
                    <option key={id} value={id}>
                      {visibleName(agent)} · {shortId(id)} · since {shortClock(startedAt)}
                    </option>
                  ))}
                </select>
              )}
            </Field>
          )}
          <Radio
            on={scope === 'agent'}
            onChoose={() => setScope('agent')}
            name={agentId === '' ? 'One agent' : agentId}
            note={scope === 'agent' ? hit : ''}
          />
          {scope === 'agent' && target.agentId === undefined && (
            <Field label="Agent" wrong={isTried && agentId === '' ? 'Choose an agent.' : rejection.at('id')}>
              {(input) => (
                <select {...input} value={agentId} onChange={(event) => setAgentId(event.target.value)}>
                  <option value="">Choose an agent</option>
                  {(agents.data?.agents ?? []).map(({ id }) => (
                    <option key={id}>{id}</option>
                  ))}
                </select>
              )}
            </Field>
          )}
          <Radio
            on={scope === 'tenant'}
            onChoose={() => setScope('tenant')}
            name={`Every agent of ${me.tenantId}`}
            note={scope === 'tenant' ? hit : ''}
          />
        </fieldset>
        <ol>
          {consequences(state, scope).map((line) => (
            <li key={line}>{line}</li>
          ))}
        </ol>
        <ReasonField
          label="Why; the agent and your colleagues read this"
          value={reason}
          wrong={isTried && reason.trim() === '' ? 'Enter a reason.' : rejection.at('reason')}
          onChange={setReason}
        />
        {mustType !== undefined && (
          <Field
            label={
              <>
                Type <b>{mustType}</b> to go on
              </>
            }
            wrong={isTried && typed !== mustType ? `Type ${mustType} exactly.` : undefined}
          >
            {(input) => (
              <input
                {...input}
                className={`${input.className} mono`}
                value={typed}
                autoComplete="off"
                spellCheck={false}
                onChange={(event) => setTyped(event.target.value)}
              />
            )}
          </Field>
        )}
        {why !== undefined && <p className="hint bad">{why}.</p>}
        <FailureLine>{rejection.besides('reason', ...(scope === 'tenant' ? [] : ['id']))}</FailureLine>
      </div>
    </Dialog>
  );
}

/** Runs to choose from, if the page has not chosen: those that an order in this state changes. */
function useListed(state: StopState, { runs, agentId }: StopTarget): readonly Run[] {
  const query = { status: state === 'running' ? 'running,killed' : 'running', agentId, limit: MAX_LISTED };
  const { data } = useRead(
    ['runs', 'to stop', query.status, agentId],
    (signal) => client.listRuns({ query, signal }),
    runs === undefined,
  );
  return data?.runs ?? [];
}

function nameRuns(runs: readonly { readonly id: string }[]): string {
  const [first] = runs;
  if (first === undefined) return 'a run';
  return runs.length === 1 ? `run ${shortId(first.id)}` : counted(runs.length, 'run');
}

function Radio({ on, onChoose, name, note }: { on: boolean; onChoose: () => void; name: string; note: string }) {
  return (
    <label className={`rdl ${on ? 'on' : ''}`}>
      <input type="radio" className="rdi" name="scope" checked={on} onChange={onChoose} />
      <span className="clip">{name}</span>
      <span className="t3 num">{note}</span>
    </label>
  );
}

/** Number of runs that an order affects. An order for a run covers its sub-runs. */
function useHit(scope: Scope, runs: readonly { readonly id: string }[], agentId: string): string {
  const query = { status: 'running', ...(scope === 'agent' ? { agentId } : {}) };
  const facets = useRead(
    ['runs', 'hit', scope, agentId],
    (signal) => client.getRunFacets({ query, signal }),
    scope === 'tenant' || (scope === 'agent' && agentId !== ''),
  );
  const ids = runs.map(({ id }) => id);
  const covered = useRead(
    ['run', 'covered', ...ids],
    async (signal) => coveredWords(await Promise.all(ids.map((id) => client.getRunTree({ params: { id }, signal })))),
    scope === 'run' && ids.length > 0 && ids.length <= MAX_COUNTED_RUNS,
  );
  if (scope === 'run' && ids.length === 0) return '';
  if (scope === 'run') return covered.data ?? (covered.isLoading ? '' : 'with sub-runs');
  return facets.data === undefined ? '' : `${counted(facets.data.total, 'run')} running`;
}

function consequences(state: StopState, scope: Scope): string[] {
  const whose = scope === 'run' ? 'this run and its sub-runs' : scope === 'agent' ? 'this agent' : 'every agent';
  if (state === 'running') return [`Calls of ${whose} follow the rules again.`, 'Connected processes are notified.'];
  return [
    `Every call of ${whose} is blocked${scope === 'run' ? '' : ', including new runs'}.`,
    'Connected processes stop at once. A call in progress is not undone.',
    ...(state === 'killed' ? ['The run ends.'] : []),
    'This lasts until you resume it.',
  ];
}
