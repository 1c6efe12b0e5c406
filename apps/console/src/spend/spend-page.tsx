import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { visible } from '../../../../libs/contracts/src/visible.ts';
import { client } from '../api/client.ts';
import type { BudgetStanding } from '../api/model.ts';
import { count, counted, money, moneyCell } from '../figures/figures.ts';
import { useRead } from '../live-data/live-store.ts';
import { courseText } from '../now/now-rows.tsx';
import { moreThanUsual } from '../now/situation.ts';
import { useNowRead } from '../shell/nav.tsx';
import { Page } from '../shell/page.tsx';
import { bounds, rangeName } from '../time/range.ts';
import { Act } from '../ui/act.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Read } from '../ui/faces.tsx';
import { Gauge } from '../ui/gauge.tsx';
import { useNow } from '../ui/moment.tsx';
import { Section } from '../ui/section.tsx';
import { toast, toastError } from '../ui/toast.tsx';
import { useListSearch } from '../ui/use-list-search.ts';
import { BudgetDialog, LimitDialog } from './budget-dialog.tsx';
import { BurnDown } from './burn-down.tsx';
import { Prices } from './prices.tsx';
import { projectionOf } from './projection.ts';
import { SPENDERS, SpendChart } from './spend-chart.tsx';
import './spend.css';

const PERIODS = [
  { id: 'day', name: 'Day', range: '24h' },
  { id: 'week', name: 'Week', range: '7d' },
  { id: 'month', name: 'Month', range: '30d' },
] as const;

export function SpendPage() {
  const { search, change } = useListSearch<'period' | 'budget' | 'by'>();
  const by = SPENDERS.find(({ id }) => id === search.by)?.id ?? 'agent';
  const period = PERIODS.find(({ id }) => id === search.period) ?? PERIODS[0];
  const metrics = useRead(['spend', 'metrics', period.range], (signal) =>
    client.getMetrics({ query: { range: period.range, granularity: period.id === 'day' ? 'hour' : 'day' }, signal }),
  );
  const actors = useRead(['spend', 'actors', period.range], (signal) =>
    client.getSpend({ query: { ...bounds({ range: period.range }), by: 'actor', limit: 500 }, signal }),
  );
  const now = useNowRead();
  const unusual = now.data?.unusual.spend;
  const [making, setMaking] = useState(false);
  const unpricedCalls = (actors.data?.groups ?? []).reduce((sum, { unpriced }) => sum + unpriced, 0);
  return (
    <Page name="spend" title="Spend" time={rangeName({ range: period.range })}>
      <Read read={metrics} what="Spend" rows={10}>
        {(data) => (
          <div className="pad">
            <div className="hd">
              <div>
                <p>
                  {money(data.tasks.costUsd)} in the last{' '}
                  {period.range === '24h' ? '24 hours' : period.range === '7d' ? '7 days' : '30 days'}.
                </p>
                <p>
                  {counted(data.tasks.started, 'run')}, {count(data.tasks.totalTokens)} tokens
                  {unpricedCalls > 0 && (
                    <span className="warn">, {counted(unpricedCalls, 'call')} without a known price are not in it</span>
                  )}
                  .
                </p>
                {unusual !== undefined && unusual !== null && (
                  <p className="bad">
                    {money(unusual.usd)} in the last hour is{' '}
                    {moreThanUsual(unusual.usd, unusual.usualUsd, unusual.of, '$0')}.
                  </p>
                )}
              </div>
              <div className="seg" role="group" aria-label="Period">
                {PERIODS.map(({ id, name }) => (
                  <button
                    key={id}
                    type="button"
                    aria-pressed={period.id === id}
                    onClick={() => change({ period: id === 'day' ? undefined : id })}
                  >
                    {name}
                  </button>
                ))}
              </div>
            </div>
            <SpendChart
              range={period.range}
              by={by}
              onBy={(next) => change({ by: next === 'agent' ? undefined : next })}
              standings={now.data?.budgets ?? []}
            />
            <Budgets
              standings={now.data?.budgets ?? []}
              chosen={search.budget}
              onChoose={(budget) => change({ budget }, true)}
              onNew={() => setMaking(true)}
            />
            <div className="tri">
              <By
                title="By agent"
                rows={data.agents.map(({ agentId, tasks }) => ({ name: agentId, costUsd: tasks.costUsd }))}
              />
              <By
                title="By model"
                rows={data.models.map(({ model, provider, costUsd, inputTokens }) => ({
                  name: withProvider(model, provider, data.models),
                  costUsd,
                  unpriced: costUsd === 0 && inputTokens > 0,
                }))}
              />
              <By
                title="By user"
                rows={(actors.data?.groups ?? []).map(({ key, costUsd }) => ({ name: key || 'no user', costUsd }))}
              />
            </div>
            <Prices range={period.range} />
          </div>
        )}
      </Read>
      {making && <BudgetDialog onClose={() => setMaking(false)} />}
    </Page>
  );
}

/** The same model of two providers has two prices and two rows. */
function withProvider(model: string, provider: string | null, all: readonly { readonly model: string }[]): string {
  const isUsual = provider === null || provider === '' || all.filter((other) => other.model === model).length === 1;
  return isUsual ? model : `${model} (${provider})`;
}

/** Without an id, a budget is of each agent, run or user by itself, but of the tenant as a whole. */
const EVERY: Readonly<Record<string, string>> = {
  tenant: 'all agents together',
  actor: 'each user',
  tree: 'each run with its sub-runs',
};

function Budgets({
  standings,
  chosen,
  onChoose,
  onNew,
}: {
  standings: readonly BudgetStanding[];
  chosen: string | undefined;
  onChoose: (id: string) => void;
  onNew: () => void;
}) {
  const now = useNow();
  const shown = standings.find(({ budget }) => budget.id === chosen) ?? standings[0];
  return (
    <>
      <Section
        title="Budgets"
        note={standings.length}
        link={
          <span className="ml">
            <Act scope="admin" kind="sm" onPress={onNew}>
              New budget…
            </Act>
          </span>
        }
      >
        {standings.length === 0 ? (
          <p className="hint topped">
            No budget limits what agents spend. With one, calls that no longer fit are refused before they are made.
          </p>
        ) : (
          <table className="tb flush bt">
            <thead>
              <tr>
                <th>For</th>
                <th className="gw not-s">
                  <span className="vh">Spent against the limit</span>
                </th>
                <th className="r">Spent $</th>
                <th className="r not-s">Set aside</th>
                <th className="r">Budget</th>
                <th className="not-s">On course for</th>
              </tr>
            </thead>
            <tbody>
              {standings.map(({ budget, pots }) => {
                const pot = pots[0];
                const spent = pot?.spentUsd ?? 0;
                const { courseUsd, spentAtMs, endMs } = projectionOf(budget, pot, now);
                return (
                  <tr key={budget.id} className={budget.id === shown?.budget.id ? 'sel cur' : ''}>
                    <td>
                      <button type="button" className="lnk" onClick={() => onChoose(budget.id)}>
                        <span className="strong">{budget.name}</span>{' '}
                        <span className="t3">
                          {budget.scopeId ?? EVERY[budget.scope] ?? `each ${budget.scope}`}, {budget.period}
                        </span>
                      </button>
                      {(pot?.unpricedCalls ?? 0) > 0 && (
                        <span className="warn"> {counted(pot?.unpricedCalls ?? 0, 'unpriced call')}</span>
                      )}
                    </td>
                    <td className="gw not-s">
                      <Gauge
                        value={spent / budget.limitUsd}
                        {...(courseUsd === undefined ? {} : { projected: courseUsd / budget.limitUsd })}
                        label={`${budget.name}: ${money(spent)} of ${money(budget.limitUsd)}`}
                      />
                    </td>
                    <td className="r num">{moneyCell(spent)}</td>
                    <td className="r num t2 not-s">{moneyCell(pot?.reservedUsd ?? 0)}</td>
                    <td className="r num">{moneyCell(budget.limitUsd)}</td>
                    <td className={`fcc not-s ${spentAtMs === undefined && spent < budget.limitUsd ? 't2' : 'bad'}`}>
                      {courseText(budget.limitUsd, spent, courseUsd, spentAtMs, endMs)}
                    </td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        )}
      </Section>
      {shown?.pots[0] !== undefined && <Chosen standing={shown} />}
    </>
  );
}

function Chosen({ standing }: { standing: BudgetStanding }) {
  const { budget, pots } = standing;
  const queries = useQueryClient();
  const [asking, setAsking] = useState(false);
  const [raising, setRaising] = useState(false);
  const remove = async () => {
    try {
      await client.deleteBudget({ params: { id: budget.id } });
      await queries.invalidateQueries();
      toast(`${budget.name} deleted`);
    } catch (error) {
      toastError('Not deleted', error);
    }
    setAsking(false);
  };
  return (
    <div className="two">
      <Section title={budget.name} note={`$ spent, this ${budget.period}`}>
        <BurnDown standing={standing} />
      </Section>
      <Section title="Where it goes">
        <div className="parts">
          {pots.slice(0, 6).map((pot) => (
            <div key={pot.scopeId}>
              <span className="clip">{visible(pot.scopeId)}</span>
              <b>{money(pot.spentUsd)}</b>
            </div>
          ))}
          {pots.some(({ estimatedUsd }) => estimatedUsd > 0) && (
            <div>
              <span>Estimated for unpriced calls</span>
              <b>{money(pots.reduce((sum, { estimatedUsd }) => sum + estimatedUsd, 0))}</b>
            </div>
          )}
          <div>
            <span>Set aside for calls under way</span>
            <b>{money(pots.reduce((sum, { reservedUsd }) => sum + reservedUsd, 0))}</b>
          </div>
        </div>
        <p className="hint topped">When it is spent, calls that cost are refused; runs go on.</p>
        <div className="acts">
          <Act scope="admin" onPress={() => setRaising(true)}>
            Change limit…
          </Act>
          <Act scope="admin" kind="danger" onPress={() => setAsking(true)}>
            Delete budget…
          </Act>
        </div>
      </Section>
      {raising && <LimitDialog standing={standing} onClose={() => setRaising(false)} />}
      {asking && (
        <Dialog
          title={`Delete “${budget.name}”?`}
          open
          onClose={() => setAsking(false)}
          acts={
            <>
              <button type="button" className="b" onClick={() => setAsking(false)}>
                Keep it
              </button>
              <button type="button" className="b danger solid" onClick={() => void remove()}>
                Delete budget
              </button>
            </>
          }
        >
          <p>Nothing limits this spending any more. What was spent stays in the ledger.</p>
        </Dialog>
      )}
    </div>
  );
}

function By({
  title,
  rows,
}: {
  title: string;
  rows: readonly { name: string; costUsd: number; unpriced?: boolean }[];
}) {
  const sorted = rows.toSorted((a, b) => b.costUsd - a.costUsd).slice(0, 8);
  const most = Math.max(1e-9, ...sorted.map(({ costUsd }) => costUsd));
  return (
    <Section title={title}>
      <table className="tb flush by">
        <tbody>
          {sorted.map(({ name, costUsd, unpriced = false }) => (
            <tr key={name}>
              <td className="clip w100">
                <bdi>{visible(name)}</bdi>
              </td>
              <td>
                <span className="shw">
                  <i className="sh" style={{ width: `${(48 * costUsd) / most}px` }} />
                </span>
              </td>
              <td className="r num">{unpriced ? <span className="warn">no price</span> : moneyCell(costUsd)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {sorted.length === 0 && <p className="hint topped">Nothing was spent.</p>}
    </Section>
  );
}
