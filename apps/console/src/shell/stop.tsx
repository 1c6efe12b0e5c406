import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { client } from '../api/client.ts';
import type { OrderAnswer, OrderBody } from '../api/model.ts';
import { counted, duration, shortId } from '../figures/figures.ts';
import { useRead } from '../live-data/live-store.ts';
import { coveredWords, MAX_COUNTED_RUNS } from '../run/tree.ts';
import { Dialog } from '../ui/dialog.tsx';
import { FailureLine } from '../ui/failure-line.tsx';
import { Field, ReasonField, useRejection } from '../ui/field.tsx';
import { Icon } from '../ui/icon.tsx';
import { openable } from '../ui/opened.ts';
import { useMay, useMe } from './me.tsx';

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

type Scope = 'run' | 'agent' | 'tenant';

const VERB = { killed: 'Kill', paused: 'Pause', running: 'Resume' };
const PAST = { killed: 'killed', paused: 'paused', running: 'resumed' };
const KEEP = { killed: 'Keep it running', paused: 'Keep it running', running: 'Cancel' };

function Stopping({ target }: { target: StopTarget }) {
  const me = useMe();
  const { may, why } = useMay('admin');
  const queries = useQueryClient();
  const runs = target.runs ?? [];
  const agents = useRead(['agents', 'names'], (signal) => client.listAgents({ query: { limit: 100 }, signal }));
  const [state, setState] = useState<StopState>(target.state ?? 'killed');
  const [scope, setScope] = useState<Scope>(runs.length > 0 ? 'run' : 'agent');
  const [agentId, setAgentId] = useState(target.agentId ?? runs[0]?.agentId ?? '');
  const [reason, setReason] = useState('');
  const [typed, setTyped] = useState('');
  const [done, setDone] = useState<readonly OrderAnswer[]>();
  const rejection = useRejection();
  const [isTried, setIsTried] = useState(false);
  const [busy, setBusy] = useState(false);

  useEffect(() => {
    if (agentId === '' && agents.data?.agents[0] !== undefined) setAgentId(agents.data.agents[0].id);
  }, [agentId, agents.data]);

  const hit = useHit(scope, runs, agentId);
  const name =
    scope === 'tenant'
      ? me.tenantId
      : scope === 'agent'
        ? agentId
        : runs.length === 1
          ? `run ${shortId(runs[0]?.id ?? '')}`
          : counted(runs.length, 'run');
  const mustType = state === 'killed' && scope !== 'run' ? name : undefined;
  const ready =
    may &&
    !busy &&
    reason.trim() !== '' &&
    (scope !== 'agent' || agentId !== '') &&
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

  if (done !== undefined) return <Ordered name={name} state={state} answers={done} />;
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
          {runs.length > 0 && (
            <Radio
              on={scope === 'run'}
              onChoose={() => setScope('run')}
              name={runs.length === 1 ? 'Run and sub-runs' : `${runs.length} runs and sub-runs`}
              note={scope === 'run' ? hit : ''}
            />
          )}
          <Radio
            on={scope === 'agent'}
            onChoose={() => setScope('agent')}
            name={agentId === '' ? 'One agent' : agentId}
            note={scope === 'agent' ? hit : ''}
          />
          {scope === 'agent' && target.agentId === undefined && (
            <Field label="Agent" wrong={rejection.at('id')}>
              {(input) => (
                <select {...input} value={agentId} onChange={(event) => setAgentId(event.target.value)}>
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
        <FailureLine>{rejection.besides('reason', ...(scope === 'agent' ? ['id'] : []))}</FailureLine>
      </div>
    </Dialog>
  );
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
function useHit(scope: Scope, runs: StopTarget['runs'], agentId: string): string {
  const query = { status: 'running', ...(scope === 'agent' ? { agentId } : {}) };
  const facets = useRead(
    ['runs', 'hit', scope, agentId],
    (signal) => client.getRunFacets({ query, signal }),
    scope !== 'run',
  );
  const ids = (runs ?? []).map(({ id }) => id);
  const covered = useRead(
    ['run', 'covered', ...ids],
    async (signal) => coveredWords(await Promise.all(ids.map((id) => client.getRunTree({ params: { id }, signal })))),
    scope === 'run' && ids.length <= MAX_COUNTED_RUNS,
  );
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

function Ordered({ name, state, answers }: { name: string; state: StopState; answers: readonly OrderAnswer[] }) {
  const taken = answers.reduce((sum, { acknowledged }) => sum + acknowledged, 0);
  const connected = answers.every((one) => one.connected !== null)
    ? answers.reduce((sum, one) => sum + (one.connected ?? 0), 0)
    : null;
  const fastest = Math.min(...answers.flatMap(({ fastestMs }) => fastestMs ?? []));
  const slowest = Math.max(...answers.flatMap(({ slowestMs }) => slowestMs ?? []));
  return (
    <Dialog
      title={`${name} is ${PAST[state]}`}
      open
      onClose={stop.close}
      acts={
        <button type="button" className="b pri" onClick={stop.close}>
          Close
        </button>
      }
    >
      <div className="kd">
        <p>
          {connected === 0
            ? 'No process is connected.'
            : `${taken} of ${connected ?? 'an unknown number of'} connected processes ${PAST[state]}${Number.isFinite(fastest) ? `, the first after ${duration(fastest)}` : ''}.`}{' '}
          {state === 'running'
            ? 'Other processes continue with their next call.'
            : 'Any other process is blocked at its next call.'}
        </p>
        <ul className="ackl">
          <li>
            <Icon name={taken > 0 || connected === 0 ? 'v-allow' : 's-waiting'} size={14} />
            <span>Acknowledged</span>
            <span className="r num">{taken}</span>
          </li>
          {Number.isFinite(slowest) && (
            <li>
              <Icon name="clock" size={14} />
              <span>Slowest</span>
              <span className="r num">{duration(slowest)}</span>
            </li>
          )}
        </ul>
      </div>
    </Dialog>
  );
}
