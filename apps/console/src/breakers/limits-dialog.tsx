import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { client } from '../api/client.ts';
import type { BreakerLimits } from '../api/model.ts';
import { Dialog } from '../ui/dialog.tsx';
import { FailureLine } from '../ui/failure-line.tsx';
import { Field, useRejection } from '../ui/field.tsx';
import { toast } from '../ui/toast.tsx';

const FIELDS = [
  ['maxTokens', 'Tokens'],
  ['maxIterations', 'Model calls'],
  ['maxCostUsd', 'Cost in dollars'],
  ['maxConsecutiveFailures', 'Failures in a row'],
] as const;

const SCOPES = [
  ['agent', 'each run of one agent'],
  ['tenant', 'each run of every agent'],
  ['tree', 'each run tree: a run with its sub-runs'],
] as const;
type LimitsOf = (typeof SCOPES)[number][0];

/** All limits of the tenant, of one agent or of each run tree. An empty field has the default. */
export function LimitsDialog({
  defaults,
  agentId = '',
  scope: initial = 'agent',
  onClose,
}: {
  defaults: BreakerLimits['defaults'];
  /** The agent whose limits are edited; empty to choose. */
  agentId?: string;
  scope?: LimitsOf;
  onClose: () => void;
}) {
  const queries = useQueryClient();
  const [scope, setScope] = useState<LimitsOf>(initial);
  const [id, setId] = useState(agentId);
  const [limits, setLimits] = useState(defaults);
  const rejection = useRejection();
  const save = async () => {
    rejection.clear();
    try {
      await client.setBreakerLimits({ body: scope === 'agent' ? { scope, id, limits } : { scope, limits } });
      await queries.invalidateQueries();
      toast('Limits saved');
      onClose();
    } catch (cause) {
      rejection.set(cause);
    }
  };
  return (
    <Dialog
      title="Set limits"
      open
      onClose={onClose}
      acts={
        <>
          <button type="button" className="b" onClick={onClose}>
            Cancel
          </button>
          <button
            type="button"
            className="b pri"
            aria-disabled={(scope === 'agent' && id === '') || undefined}
            onClick={() => (scope !== 'agent' || id !== '') && void save()}
          >
            Set limits
          </button>
        </>
      }
    >
      <div className="kd">
        <label className="field">
          <span className="lab">For</span>
          <select
            className="in"
            value={scope}
            onChange={(event) => setScope(SCOPES.find(([one]) => one === event.target.value)?.[0] ?? 'agent')}
          >
            {SCOPES.map(([one, title]) => (
              <option key={one} value={one}>
                {title}
              </option>
            ))}
          </select>
        </label>
        {scope === 'agent' && (
          <Field label="Agent" wrong={rejection.at('id')}>
            {(input) => <input {...input} value={id} onChange={(event) => setId(event.target.value)} />}
          </Field>
        )}
        {FIELDS.map(([name, title]) => (
          <Field key={name} label={title} wrong={rejection.at(`limits.${name}`)}>
            {(input) => (
              <input
                {...input}
                type="number"
                min={0}
                step="any"
                value={Number.isNaN(limits[name]) ? '' : limits[name]}
                onChange={(event) => setLimits((before) => ({ ...before, [name]: event.target.valueAsNumber }))}
              />
            )}
          </Field>
        ))}
        <FailureLine>{rejection.besides('id', ...FIELDS.map(([name]) => `limits.${name}`))}</FailureLine>
      </div>
    </Dialog>
  );
}
