import type { Alert } from '../api/model.ts';
import { Icon } from '../ui/icon.tsx';
import { Moment } from '../ui/moment.tsx';
import { Section } from '../ui/section.tsx';
import type { CallToDecide } from './use-call.ts';

/** The effect of each answer, and of no answer. */
export function Consequences({ alert, call }: { alert: Alert; call: CallToDecide }) {
  return (
    <Section first title="If you">
      <ul className="cons">
        <li className={call.extent === 'cut' ? 'no' : 'allow'}>
          <Icon name={call.extent === 'cut' ? 'v-no' : 'v-allow'} size={14} className="ic" />
          {call.extent === 'cut' ? (
            <span>
              <b>Approve</b>: not available, because the whole call cannot be shown.
            </span>
          ) : (
            <span>
              <b>Approve once</b>, the agent may {call.result === undefined ? 'make' : 'have the result of'} exactly
              this call, once
              {alert.expiresAt !== undefined && (
                <>
                  , until <Moment at={alert.expiresAt} />
                </>
              )}
              .
            </span>
          )}
        </li>
        <li className="block">
          <Icon name="v-block" size={14} className="ic" />
          <span>
            <b>Deny</b>: the agent receives a refusal and continues. This run cannot ask for the call again.
          </span>
        </li>
        <li className="waiting">
          <Icon name="s-timed" size={14} className="ic" />
          <span>
            <b>Do nothing</b>,{' '}
            {alert.expiresAt === undefined ? (
              'it keeps waiting'
            ) : (
              <>
                it is denied at <Moment at={alert.expiresAt} />
              </>
            )}
            .
          </span>
        </li>
      </ul>
    </Section>
  );
}
