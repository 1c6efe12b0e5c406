import { signOut, signOutEverywhere } from '../api/client.ts';
import type { Me } from '../api/model.ts';
import { grantText } from '../people/roles.tsx';
import { BrowserSessions } from '../settings/browser-sessions.tsx';
import { useMe } from '../shell/me.tsx';
import { Page } from '../shell/page.tsx';
import { Icon } from '../ui/icon.tsx';
import { Moment } from '../ui/moment.tsx';
import { Facts, Note, Section } from '../ui/section.tsx';
import { toastError } from '../ui/toast.tsx';
import { Deputies } from './deputies.tsx';
import { PersonalKeys } from './personal-keys.tsx';

/** Who is signed in here, with which rights, and where else. */
export function YouPage() {
  const me = useMe();
  return (
    <Page name="you" title="You" time="Now">
      <div className="pad">
        {me.breakGlass === true && (
          <Note tone="bad" icon={<Icon name="warnt" size={14} />}>
            This is the session of a break-glass key. It ends an hour after sign-in, and the audit shows every change
            that it made.
          </Note>
        )}
        <Section first title="Who you are">
          <Facts facts={me.person === undefined ? keyFacts(me) : personFacts(me.person, me.tenantId)} />
          <div className="btns topped">
            <button type="button" className="b" onClick={() => void leave(signOut)}>
              Sign out
            </button>
            <button type="button" className="b" onClick={() => void leave(signOutEverywhere)}>
              Sign out everywhere
            </button>
          </div>
        </Section>
        {me.person !== undefined && <PersonalKeys />}
        {me.person !== undefined && <Deputies />}
        <BrowserSessions />
      </div>
    </Page>
  );
}

function keyFacts(me: Me) {
  return [
    ['Tenant', me.tenantId],
    ['Key', me.keyName],
    ['Scopes', me.scopes.join(', ')],
  ] as const;
}

function personFacts({ name, grants, teams, signedInAt }: NonNullable<Me['person']>, tenantId: string) {
  return [
    ['Name', name],
    ['Tenant', tenantId],
    ['Roles', grants.map(grantText).join(', ') || 'no role'],
    ['Teams', teams.join(', ') || 'no team'],
    ['Signed in', <Moment key="s" at={signedInAt} />],
  ] as const;
}

async function leave(how: () => Promise<void>): Promise<void> {
  try {
    await how();
    location.assign(new URL('.', document.baseURI));
  } catch (error) {
    toastError('You are not signed out', error);
  }
}
