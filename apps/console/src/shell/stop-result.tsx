import type { OrderAnswer } from '../api/model.ts';
import { duration } from '../figures/figures.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Icon } from '../ui/icon.tsx';

/** What orders did: how many processes acknowledged them, and how fast. */
export function Ordered({
  name,
  done,
  isResumed,
  answers,
  onClose,
}: {
  name: string;
  /** Such as `paused`. */
  done: string;
  isResumed: boolean;
  answers: readonly OrderAnswer[];
  onClose: () => void;
}) {
  const taken = answers.reduce((sum, { acknowledged }) => sum + acknowledged, 0);
  const connected = answers.every((one) => one.connected !== null)
    ? answers.reduce((sum, one) => sum + (one.connected ?? 0), 0)
    : null;
  const fastest = Math.min(...answers.flatMap(({ fastestMs }) => fastestMs ?? []));
  const slowest = Math.max(...answers.flatMap(({ slowestMs }) => slowestMs ?? []));
  return (
    <Dialog
      title={`${name} is ${done}`}
      open
      onClose={onClose}
      acts={
        <button type="button" className="b pri" onClick={onClose}>
          Close
        </button>
      }
    >
      <div className="kd">
        <p>
          {connected === 0
            ? 'No process is connected.'
            : `${taken} of ${connected ?? 'an unknown number of'} connected processes ${done}${Number.isFinite(fastest) ? `, the first after ${duration(fastest)}` : ''}.`}{' '}
          {isResumed
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
