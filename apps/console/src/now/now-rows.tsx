import { Link } from '@tanstack/react-router';
import { visible, visibleName } from '../../../../libs/contracts/src/visible.ts';
import type { Alert, BudgetStanding } from '../api/model.ts';
import { callInMessage, inOneLine } from '../approvals/call-in-message.ts';
import { duration, money } from '../figures/figures.ts';
import { projectionOf } from '../spend/projection.ts';
import { shortClock } from '../time/zone.ts';
import { Gauge, TimeLeft } from '../ui/gauge.tsx';
import { Countdown, URGENT_MS, useNow } from '../ui/moment.tsx';

/** A call that needs approval: time left, call and link. */
export function WaitingCall({ alert }: { alert: Alert }) {
  const now = useNow();
  const until = alert.expiresAt;
  const left = until === undefined ? undefined : Date.parse(until) - now;
  const whole = until === undefined ? 1 : Date.parse(until) - Date.parse(alert.createdAt);
  return (
    <li className="w">
      <span className={`cd ${left !== undefined && left <= URGENT_MS ? 'bad' : ''}`}>
        {until === undefined ? <b>open</b> : <Countdown until={until} />}
        <TimeLeft share={(left ?? whole) / whole} urgent={left !== undefined && left <= URGENT_MS} />
      </span>
      <Link className="what" to="/approvals" search={{ id: alert.id }}>
        <span className="mono tool">{visibleName(alert.approval?.toolName ?? alert.title)}</span>{' '}
        <span className="mono arg">{inOneLine(callInMessage(alert.message))}</span>
        <span className="why">
          {visibleName(alert.agentId)} <span className="t3">·</span> {visible(alert.title)}
        </span>
      </Link>
      <Link className="b sm" to="/approvals" search={{ id: alert.id }}>
        Review
      </Link>
    </li>
  );
}

/** The fullest pot of a budget: spend, limit and forecast. */
export function BudgetLine({ standing: { budget, pots } }: { standing: BudgetStanding }) {
  const now = useNow();
  const pot = pots[0];
  const spent = pot?.spentUsd ?? 0;
  const { courseUsd, spentAtMs, endMs } = projectionOf(budget, pot, now);
  const text = courseText(budget.limitUsd, spent, courseUsd, spentAtMs, endMs);
  return (
    <Link className="bud" to="/spend" search={{ budget: budget.id }}>
      <span className="row">
        <span className="strong clip">
          {pot === undefined || budget.scope === 'tenant' ? budget.name : pot.scopeId}
        </span>
        <span className="t3">{budget.period}</span>
        <span className="num ml">
          <b>{money(spent)}</b> <span className="t3">of {money(budget.limitUsd)}</span>
        </span>
      </span>
      <Gauge
        value={spent / budget.limitUsd}
        {...(courseUsd === undefined ? {} : { projected: courseUsd / budget.limitUsd })}
        label={`${budget.name}: ${money(spent)} of ${money(budget.limitUsd)}, ${text}`}
      />
      <span className={`fc ${spentAtMs !== undefined || spent >= budget.limitUsd ? 'bad' : 't3'}`}>{text}</span>
    </Link>
  );
}

export function courseText(
  limitUsd: number,
  spentUsd: number,
  courseUsd: number | undefined,
  spentAtMs: number | undefined,
  endMs: number | undefined,
): string {
  if (spentUsd >= limitUsd) return 'spent: paid calls are blocked';
  if (spentAtMs !== undefined)
    return `runs out at about ${shortClock(spentAtMs)}${endMs === undefined ? '' : `, ${duration(endMs - spentAtMs)} early`}`;
  if (courseUsd !== undefined) return `forecast ${money(courseUsd)}`;
  return `${money(limitUsd - spentUsd)} left`;
}
