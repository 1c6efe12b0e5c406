import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { client } from '../api/client.ts';
import type { BudgetBody, BudgetStanding } from '../api/model.ts';
import { money } from '../figures/figures.ts';
import { Act } from '../ui/act.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { FailureLine } from '../ui/failure-line.tsx';
import { Field, useRejection } from '../ui/field.tsx';
import { toast } from '../ui/toast.tsx';

const SCOPES = [
  { id: 'tenant', name: 'all agents together' },
  { id: 'agent', name: 'an agent' },
  { id: 'run', name: 'each run' },
  { id: 'tree', name: 'each run with its sub-runs' },
  { id: 'session', name: 'each session' },
  { id: 'actor', name: 'each person asked for' },
] as const;
const PERIODS = ['day', 'week', 'month', 'total'] as const;
const UNPRICED = [
  { id: 'estimate', name: 'count an estimate' },
  { id: 'allow', name: 'count nothing' },
  { id: 'block', name: 'count an estimate and block further calls' },
] as const;

/** A new budget: whose, how much, for how long. */
export function BudgetDialog({ onClose }: { onClose: () => void }) {
  const queries = useQueryClient();
  const [draft, setDraft] = useState<BudgetBody & { scopeId: string }>({
    name: '',
    scope: 'agent',
    scopeId: '',
    period: 'day',
    limitUsd: 10,
    onUnpriced: 'estimate',
    freeCalls: 'allow',
  });
  const rejection = useRejection();
  const set = (next: Partial<typeof draft>) => setDraft((before) => ({ ...before, ...next }));
  const make = async () => {
    const { scopeId, ...rest } = draft;
    rejection.clear();
    try {
      await client.createBudget({
        body: {
          ...rest,
          name: draft.name.trim() || `${scopeId || draft.scope}, ${draft.period}`,
          ...(scopeId.trim() === '' ? {} : { scopeId: scopeId.trim() }),
        },
      });
      await queries.invalidateQueries();
      toast('Budget made');
      onClose();
    } catch (cause) {
      rejection.set(cause);
    }
  };
  return (
    <Dialog
      title="New budget"
      open
      onClose={onClose}
      acts={
        <>
          <button type="button" className="b" onClick={onClose}>
            Back
          </button>
          <button type="button" className="b pri" onClick={() => void make()}>
            Make budget
          </button>
        </>
      }
    >
      <div className="kd">
        <label className="field">
          <span className="lab">For</span>
          <select
            className="in"
            value={draft.scope}
            onChange={(event) => set({ scope: SCOPES.find(({ id }) => id === event.target.value)?.id ?? 'agent' })}
          >
            {SCOPES.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </select>
        </label>
        {draft.scope !== 'tenant' && draft.scope !== 'tree' && (
          <Field label="Which one; empty: each has its own" wrong={rejection.at('scopeId')}>
            {(input) => (
              <input {...input} value={draft.scopeId} onChange={(event) => set({ scopeId: event.target.value })} />
            )}
          </Field>
        )}
        <Field label="Limit in dollars" wrong={rejection.at('limitUsd')}>
          {(input) => (
            <input
              {...input}
              type="number"
              min={0.01}
              step="any"
              value={Number.isNaN(draft.limitUsd) ? '' : draft.limitUsd}
              onChange={(event) => set({ limitUsd: event.target.valueAsNumber })}
            />
          )}
        </Field>
        <label className="field">
          <span className="lab">Starts again each</span>
          <select
            className="in"
            value={draft.period}
            onChange={(event) => set({ period: PERIODS.find((period) => period === event.target.value) ?? 'day' })}
          >
            {PERIODS.map((period) => (
              <option key={period} value={period}>
                {period === 'total' ? 'never' : period}
              </option>
            ))}
          </select>
        </label>
        <Field label="Name" wrong={rejection.at('name')}>
          {(input) => (
            <input
              {...input}
              value={draft.name}
              maxLength={200}
              onChange={(event) => set({ name: event.target.value })}
            />
          )}
        </Field>
        <label className="field">
          <span className="lab">Calls without a known price</span>
          <select
            className="in"
            value={draft.onUnpriced}
            onChange={({ target }) =>
              set({ onUnpriced: UNPRICED.find(({ id }) => id === target.value)?.id ?? 'estimate' })
            }
          >
            {UNPRICED.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <label className="row">
          <input
            type="checkbox"
            checked={draft.freeCalls === 'allow'}
            onChange={({ target }) => set({ freeCalls: target.checked ? 'allow' : 'block' })}
          />
          <span>Allow calls that cost nothing when it is spent</span>
        </label>
        <FailureLine>{rejection.besides('scopeId', 'limitUsd', 'name')}</FailureLine>
      </div>
    </Dialog>
  );
}

/** Changes the limit of a budget. What was spent stays, so that a raised limit allows calls at once. */
export function LimitDialog({
  standing: { budget, pots },
  onClose,
}: {
  standing: BudgetStanding;
  onClose: () => void;
}) {
  const queries = useQueryClient();
  const [limit, setLimit] = useState(String(budget.limitUsd));
  const [busy, setBusy] = useState(false);
  const rejection = useRejection();
  const spent = Math.max(0, ...pots.map(({ spentUsd }) => spentUsd));
  const save = async () => {
    setBusy(true);
    rejection.clear();
    try {
      await client.updateBudget({ params: { id: budget.id }, body: { limitUsd: Number(limit) } });
      await queries.invalidateQueries();
      toast(`The limit of ${budget.name} is ${money(Number(limit))}`);
      onClose();
    } catch (error) {
      rejection.set(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog
      title={`Limit of “${budget.name}”`}
      open
      onClose={onClose}
      acts={
        <>
          <button type="button" className="b" onClick={onClose}>
            Cancel
          </button>
          <Act scope="admin" kind="pri" disabled={busy || limit === ''} onPress={() => void save()}>
            Change limit
          </Act>
        </>
      }
    >
      <div className="kd">
        <Field
          label={`Limit in USD, ${budget.period === 'total' ? 'in total' : `per ${budget.period}`}`}
          wrong={rejection.at('limitUsd')}
          hint={`${money(spent)} spent so far. Spending is kept: a higher limit allows calls at once.`}
        >
          {(input) => (
            <input
              {...input}
              type="number"
              min="0"
              step="any"
              value={limit}
              onChange={(event) => setLimit(event.target.value)}
            />
          )}
        </Field>
        <FailureLine>{rejection.besides('limitUsd')}</FailureLine>
      </div>
    </Dialog>
  );
}
