import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { DAY_MS, MINUTE_MS } from '../../../../libs/contracts/src/times.ts';
import { visibleName } from '../../../../libs/contracts/src/visible.ts';
import { client, signInAddress } from '../api/client.ts';
import type { IdentityProvider } from '../api/model.ts';
import { useRead } from '../live-data/live-store.ts';
import { useMe } from '../shell/me.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { FailureLine } from '../ui/failure-line.tsx';
import { useRejection } from '../ui/field.tsx';
import { Icon } from '../ui/icon.tsx';
import { useNow } from '../ui/moment.tsx';
import { ShownOnce } from '../ui/shown-once.tsx';
import { toast } from '../ui/toast.tsx';
import { draftFrom } from './provider-draft.ts';
import { ifVersion } from './use-people.ts';

/** As the platform demands them; it decides. */
const PROOF_MS = 15 * MINUTE_MS;
const KNOWN_KEY_MS = 90 * DAY_MS;

/** Closes key sign-in to the console, once it is proved that the provider and a break-glass key work. */
export function RequireDialog({ provider, onClose }: { provider: IdentityProvider; onClose: () => void }) {
  const queries = useQueryClient();
  const rejection = useRejection();
  const { person } = useMe();
  const now = useNow();
  const keys = useRead(['keys'], (signal) => client.listKeys({ signal }));
  const [made, setMade] = useState<string>();
  const name = visibleName(provider.name);
  const isSignedIn = person?.via === 'console' && now - Date.parse(person.signedInAt) <= PROOF_MS;
  const hasKey = (keys.data?.keys ?? []).some(
    ({ breakGlass, revokedAt, createdAt, lastUsedAt }) =>
      breakGlass &&
      revokedAt === null &&
      now - Math.max(Date.parse(createdAt), Date.parse(lastUsedAt ?? createdAt)) <= KNOWN_KEY_MS,
  );
  const attempt = async (change: () => Promise<void>) => {
    rejection.clear();
    try {
      await change();
    } catch (error) {
      rejection.set(error);
    }
  };
  const makeKey = () =>
    attempt(async () => {
      const { key } = await client.createKey({
        body: { name: 'Break-glass key', scopes: ['admin'], breakGlass: true },
      });
      setMade(key);
      await queries.invalidateQueries({ queryKey: ['keys'] });
    });
  const set = (required: boolean) =>
    attempt(async () => {
      const { id, version } = provider;
      const body = { ...draftFrom(provider), required };
      await client.updateIdentityProvider({ params: { id }, headers: ifVersion(version), body });
      toast(required ? `People sign in with ${name} only` : 'Keys may sign in again');
      onClose();
      await queries.invalidateQueries();
    });
  if (provider.required) {
    return (
      <Dialog
        title={`No longer require ${name}?`}
        open
        onClose={onClose}
        acts={<Acts name="Allow keys again" onCancel={onClose} onGo={() => void set(false)} />}
      >
        <p>People may then sign in to the console with a key again.</p>
        <FailureLine>{rejection.besides()}</FailureLine>
      </Dialog>
    );
  }
  return (
    <Dialog
      title={`Require ${name} for people?`}
      open
      wide
      onClose={onClose}
      acts={<Acts name="Require single sign-on" onCancel={onClose} onGo={() => void set(true)} />}
    >
      <div className="kd">
        <p>
          People may then no longer sign in to the console with a key. Keys of programs are not affected. So that a
          wrong setting locks no person out, two things are proved first:
        </p>
        <ul className="steps-list">
          <Step done={isSignedIn} text={`You signed in with ${name} as an administrator within 15 minutes`}>
            <a className="b sm" href={signInAddress(provider.id, { fresh: true })}>
              Sign in now
            </a>
          </Step>
          <Step done={hasKey} text="A break-glass key exists that was made or used within 90 days">
            <button type="button" className="b sm" onClick={() => void makeKey()}>
              Create one
            </button>
          </Step>
        </ul>
        {made !== undefined && (
          <ShownOnce secret={made} onTaken={() => setMade(undefined)}>
            <b>Break-glass key</b> (keep it offline)
          </ShownOnce>
        )}
        <FailureLine>{rejection.besides()}</FailureLine>
      </div>
    </Dialog>
  );
}

function Step({ done, text, children }: { done: boolean; text: string; children: ReactNode }) {
  return (
    <li>
      <span className={done ? 'good' : 't3'}>
        <Icon name={done ? 'check' : 's-waiting'} size={14} />
      </span>
      <span>
        {text}
        <span className="t3">{done ? ': yes' : ': not yet'}</span>
      </span>
      {done ? <span /> : children}
    </li>
  );
}

function Acts({ name, onCancel, onGo }: { name: string; onCancel: () => void; onGo: () => void }) {
  return (
    <>
      <button type="button" className="b" onClick={onCancel}>
        Cancel
      </button>
      <button type="button" className="b pri" onClick={onGo}>
        {name}
      </button>
    </>
  );
}
