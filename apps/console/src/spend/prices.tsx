import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { DAY_MS } from '../../../../libs/contracts/src/times.ts';
import { visible } from '../../../../libs/contracts/src/visible.ts';
import { client } from '../api/client.ts';
import type { RepriceAnswer, UnpricedModel } from '../api/model.ts';
import { problemOf } from '../api/problem.ts';
import { count, counted, money } from '../figures/figures.ts';
import { useRead } from '../live-data/live-store.ts';
import { Act } from '../ui/act.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Read } from '../ui/faces.tsx';
import { FailureLine } from '../ui/failure-line.tsx';
import { Field, useRejection } from '../ui/field.tsx';
import { Section } from '../ui/section.tsx';
import { toast } from '../ui/toast.tsx';

const REASONS: Readonly<Record<string, string>> = {
  unknown_model: 'Unknown model',
  self_hosted: 'Self-hosted',
  service_tier: 'Unknown service tier',
  audio: 'No audio price',
  searches: 'No price for searches of the provider',
  cache_write_1h: 'No price for one-hour cache writes',
  no_tokens: 'No tokens reported',
  no_model: 'No model reported',
  invalid_counts: 'Contradicting token counts',
};

/** The price table, calls without a price, doubtful costs, and what a person can do about them. */
export function Prices({ range }: { range: string }) {
  const table = useRead(['prices', 'table'], (signal) => client.getPrices({ signal }));
  const unpriced = useRead(['spend', 'unpriced-models', range], (signal) =>
    client.getUnpricedUsage({ query: { range }, signal }),
  );
  const differences = useRead(['spend', 'differences', range], (signal) =>
    client.getCostDifferences({ query: { range }, signal }),
  );
  const [priced, setPriced] = useState<UnpricedModel>();
  const [repricing, setRepricing] = useState(false);
  const [checking, setChecking] = useState(false);
  const age = table.data?.table;
  return (
    <Section
      title="Prices"
      note={age && `table ${age.version}, ${counted(age.ageDays, 'day')} old`}
      link={
        <span className="ml acts">
          <Act kind="sm" onPress={() => setChecking(true)}>
            Check an invoice…
          </Act>
          <Act scope="admin" kind="sm" onPress={() => setRepricing(true)}>
            Reprice…
          </Act>
        </span>
      }
    >
      <Read read={unpriced} what="Calls without a price" rows={2}>
        {({ models }) =>
          models.length === 0 ? (
            <p className="hint topped">Every call has a price.</p>
          ) : (
            <table className="tb flush">
              <thead>
                <tr>
                  <th>Model without a price</th>
                  <th className="not-s">Reason</th>
                  <th className="r">Calls</th>
                  <th className="r not-s">Tokens</th>
                  <th className="r">Estimate</th>
                  <th>
                    <span className="vh">Set a price</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {models.map((model) => (
                  <tr key={`${model.provider}/${model.model}`}>
                    <td>
                      <bdi>{visible(model.model) || 'no model'}</bdi>{' '}
                      <span className="t3">{visible(model.provider)}</span>
                    </td>
                    <td className="not-s">{REASONS[model.reason ?? ''] ?? 'Unknown'}</td>
                    <td className="r num">{count(model.calls)}</td>
                    <td className="r num not-s">{count(model.inputTokens + model.outputTokens)}</td>
                    <td className="r num">{money(model.estimatedUsd)}</td>
                    <td className="r">
                      {model.model !== '' && (
                        <Act scope="admin" kind="sm" onPress={() => setPriced(model)}>
                          Set price…
                        </Act>
                      )}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          )
        }
      </Read>
      {(differences.data?.models ?? []).map(({ provider, model, different, calls, reportedUsd, computedUsd }) => (
        <p key={`${provider}/${model}`} className="hint topped">
          <bdi>{visible(model)}</bdi>: {count(different)} of {counted(calls, 'call')} report a cost that differs from
          the price list by more than 5 % ({money(reportedUsd)} reported, {money(computedUsd)} by the list).
        </p>
      ))}
      {priced !== undefined && <PriceDialog model={priced} onClose={() => setPriced(undefined)} />}
      {repricing && <RepriceDialog onClose={() => setRepricing(false)} />}
      {checking && <InvoiceDialog onClose={() => setChecking(false)} />}
    </Section>
  );
}

/** Sets an own price for a model, from the day of its first call on. */
function PriceDialog({ model, onClose }: { model: UnpricedModel; onClose: () => void }) {
  const queries = useQueryClient();
  const { proposal } = model;
  const [input, setInput] = useState(String(proposal?.rates?.input ?? ''));
  const [output, setOutput] = useState(String(proposal?.rates?.output ?? ''));
  const rejection = useRejection();
  const [missing, setMissing] = useState(false);
  const save = async () => {
    const rates = { ...proposal?.rates, input: Number(input), output: Number(output) };
    rejection.clear();
    setMissing(input === '' || output === '');
    if (input === '' || output === '') return;
    try {
      const fromDay = model.firstAt.slice(0, 10);
      await client.setPriceOverride({ body: { model: model.model, fromDay, rates } });
      await queries.invalidateQueries({ queryKey: ['spend'] });
      toast('Price set. Reprice to apply it to calls that are stored.');
      onClose();
    } catch (cause) {
      rejection.set(cause);
    }
  };
  const wrong = (name: string, value: string) =>
    missing && value === '' ? 'Enter a price, 0 if it costs nothing.' : rejection.at(`rates.${name}`);
  return (
    <Dialog
      title={`Price of ${visible(model.model)}`}
      open
      onClose={onClose}
      acts={
        <>
          <button type="button" className="b" onClick={onClose}>
            Cancel
          </button>
          <button type="button" className="b pri" onClick={() => void save()}>
            Set price
          </button>
        </>
      }
    >
      <div className="kd">
        {proposal !== undefined && (
          <p className="hint">Proposed from {proposal.basedOn}. Compare it with your provider's price list.</p>
        )}
        <RateField of="input" value={input} wrong={wrong('input', input)} onChange={setInput} />
        <RateField of="output" value={output} wrong={wrong('output', output)} onChange={setOutput} />
        <FailureLine>{rejection.besides('rates.input', 'rates.output')}</FailureLine>
      </div>
    </Dialog>
  );
}

interface RateFieldProps {
  readonly of: string;
  readonly value: string;
  readonly wrong: string | undefined;
  readonly onChange: (value: string) => void;
}

function RateField({ of, value, wrong, onChange }: RateFieldProps) {
  return (
    <Field label={`USD per million ${of} tokens`} wrong={wrong}>
      {(input) => (
        <input
          {...input}
          type="number"
          min={0}
          step="any"
          value={value}
          onChange={({ target }) => onChange(target.value)}
        />
      )}
    </Field>
  );
}

const POLL_MS = 1_000;
const DAYS = [7, 30, 90] as const;

/** Recalculates stored costs: first as a preview, then for real. */
function RepriceDialog({ onClose }: { onClose: () => void }) {
  const queries = useQueryClient();
  const [days, setDays] = useState<number>(30);
  const [onlyUnpriced, setOnlyUnpriced] = useState(true);
  const [begun, setBegun] = useState<RepriceAnswer>();
  const rejection = useRejection();
  const poll = useQuery({
    queryKey: ['reprice', begun?.id],
    queryFn: ({ signal }) => client.getReprice({ params: { id: begun?.id ?? '' }, signal }),
    enabled: begun !== undefined,
    initialData: begun,
    refetchInterval: ({ state }) => (state.data?.state === 'running' ? POLL_MS : false),
  });
  const job = begun && poll.data;
  const isRunning = job?.state === 'running';
  const unread = poll.error === null ? undefined : problemOf(poll.error).message;
  const isDone = job?.state === 'finished' && !job.dryRun;
  useEffect(() => {
    if (isDone) void queries.invalidateQueries({ queryKey: ['spend'] });
  }, [isDone, queries]);
  const begin = async (dryRun: boolean) => {
    rejection.clear();
    const to = new Date();
    const from = new Date(to.getTime() - days * DAY_MS);
    try {
      const body = { from: from.toISOString(), to: to.toISOString(), onlyUnpriced, dryRun };
      setBegun(await client.createReprice({ body }));
    } catch (cause) {
      rejection.set(cause);
    }
  };
  const previewed = job?.state === 'finished' && job.dryRun;
  return (
    <Dialog
      title="Recalculate stored costs"
      open
      onClose={onClose}
      acts={
        <>
          <button type="button" className="b" onClick={onClose}>
            {isDone ? 'Close' : 'Cancel'}
          </button>
          {!isDone && (
            <button
              type="button"
              className="b pri"
              aria-disabled={isRunning || undefined}
              onClick={() => isRunning || void begin(!previewed)}
            >
              {previewed ? 'Reprice' : 'Preview'}
            </button>
          )}
        </>
      }
    >
      <div className="kd">
        <p className="hint">Each call gets the price of its own time. Budgets keep what they counted.</p>
        <Field label="Calls of the last" wrong={rejection.at('from') ?? rejection.at('to')}>
          {(input) => (
            <select
              {...input}
              value={days}
              onChange={({ target }) => {
                setDays(Number(target.value));
                setBegun(undefined);
              }}
            >
              {DAYS.map((one) => (
                <option key={one} value={one}>
                  {one} days
                </option>
              ))}
            </select>
          )}
        </Field>
        <label className="row">
          <input
            type="checkbox"
            checked={onlyUnpriced}
            onChange={({ target }) => {
              setOnlyUnpriced(target.checked);
              setBegun(undefined);
            }}
          />
          <span>Only calls without a price</span>
        </label>
        {job !== undefined && <RepriceResult job={job} />}
        <FailureLine>{rejection.besides('from', 'to') ?? unread ?? job?.error}</FailureLine>
      </div>
    </Dialog>
  );
}

function RepriceResult({ job }: { job: RepriceAnswer }) {
  if (job.state === 'running') return <p role="status">{Math.round(job.progress * 100)} % done…</p>;
  const changed = job.dryRun ? 'would change' : 'changed';
  return (
    <>
      <p role="status">
        {count(job.changed)} of {counted(job.calls, 'call')} {changed}: {job.deltaUsd < 0 ? '−' : '+'}
        {money(Math.abs(job.deltaUsd))}.
      </p>
      <table className="tb flush">
        <tbody>
          {job.byModel.slice(0, 8).map(({ provider, model, oldUsd, newUsd, changed: calls }) => (
            <tr key={`${provider}/${model}`}>
              <td className="clip">
                <bdi>{visible(model)}</bdi>
              </td>
              <td className="r num">{counted(calls, 'call')}</td>
              <td className="r num">{money(oldUsd)}</td>
              <td className="r num">{money(newUsd)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

type Check = Awaited<ReturnType<typeof client.checkInvoice>>;

/** Compares a provider's cost export with recorded costs. */
function InvoiceDialog({ onClose }: { onClose: () => void }) {
  const [result, setResult] = useState<Check>();
  const rejection = useRejection();
  const unfit = rejection.at('csv');
  const check = async (file: File | undefined) => {
    if (file === undefined) return;
    rejection.clear();
    setResult(undefined);
    try {
      setResult(await client.checkInvoice({ body: { csv: await file.text() } }));
    } catch (cause) {
      rejection.set(cause);
    }
  };
  return (
    <Dialog
      title="Check an invoice"
      open
      wide
      onClose={onClose}
      acts={
        <button type="button" className="b" onClick={onClose}>
          Close
        </button>
      }
    >
      <div className="kd">
        <Field
          label="Cost export of OpenAI or Anthropic, or a CSV with day, model and cost"
          wrong={unfit && `The file ${unfit[0]?.toLowerCase()}${unfit.slice(1)}`}
          hint="The file is compared and not stored."
        >
          {(input) => (
            <input
              {...input}
              type="file"
              accept=".csv,text/csv"
              // Without this, choosing the corrected file again would be no change.
              onClick={({ currentTarget }) => {
                currentTarget.value = '';
              }}
              onChange={({ target }) => void check(target.files?.[0])}
            />
          )}
        </Field>
        {result !== undefined && <InvoiceResult result={result} />}
        <FailureLine>{rejection.besides('csv')}</FailureLine>
      </div>
    </Dialog>
  );
}

function InvoiceResult({ result }: { result: Check }) {
  const { explainedPercent, total, from, to, byModel, unseen } = result;
  return (
    <>
      <p role="status">
        <b>{explainedPercent} %</b> of the invoice explained: {money(total.invoicedUsd)} invoiced,{' '}
        {money(total.recordedUsd)} recorded, {from} to {to}.
      </p>
      <table className="tb flush">
        <thead>
          <tr>
            <th>Model</th>
            <th className="r">Invoice</th>
            <th className="r">Recorded</th>
          </tr>
        </thead>
        <tbody>
          {byModel.slice(0, 12).map(({ model, invoicedUsd, recordedUsd }) => (
            <tr key={model}>
              <td className="clip">
                <bdi>{visible(model) || 'no model'}</bdi>
              </td>
              <td className="r num">{money(invoicedUsd)}</td>
              <td className="r num">{money(recordedUsd)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {unseen.length > 0 && (
        <p className="hint topped">
          Never seen by AgentLens:{' '}
          {unseen.map(({ day, model, invoicedUsd }) => `${visible(model)} on ${day}, ${money(invoicedUsd)}`).join('; ')}
          .
        </p>
      )}
    </>
  );
}
