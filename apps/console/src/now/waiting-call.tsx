import { Link } from '@tanstack/react-router';
import { visible, visibleName } from '../../../../libs/contracts/src/visible.ts';
import type { Alert } from '../api/model.ts';
import { callInMessage, inOneLine } from '../approvals/call-in-message.ts';
import { TimeLeft } from '../ui/gauge.tsx';
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
