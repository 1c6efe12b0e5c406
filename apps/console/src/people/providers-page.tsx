import { useState } from 'react';
import { visible, visibleName } from '../../../../libs/contracts/src/visible.ts';
import { client } from '../api/client.ts';
import type { IdentityProvider } from '../api/model.ts';
import { NeedsAdmin, SettingsFrame } from '../settings/settings-frame.tsx';
import { useMay } from '../shell/me.tsx';
import { Act } from '../ui/act.tsx';
import { Copy } from '../ui/copy.tsx';
import { Empty, Read } from '../ui/faces.tsx';
import { Icon } from '../ui/icon.tsx';
import { Facts, Note, Section } from '../ui/section.tsx';
import { toastError } from '../ui/toast.tsx';
import { claimText } from './provider-draft.ts';
import { ProviderDialog } from './provider-dialog.tsx';
import { RequireDialog } from './require-dialog.tsx';
import { grantText } from './roles.tsx';
import { useProviders } from './use-people.ts';

/** OpenID Connect providers with which people sign in. */
export function ProvidersPage() {
  const { may, why } = useMay('admin');
  const providers = useProviders(may);
  const [open, setOpen] = useState<IdentityProvider | 'new'>();
  return (
    <SettingsFrame title="Sign-in providers">
      {may ? (
        <Read read={providers} what="Providers" rows={4}>
          {(data) => (
            <Section
              first
              title="Sign-in providers"
              note="OpenID Connect"
              link={
                <span className="ml">
                  <Act scope="admin" kind="sm" onPress={() => setOpen('new')}>
                    New provider…
                  </Act>
                </span>
              }
            >
              {data.providers.length === 0 && (
                <Empty title="People sign in with keys.">
                  With your identity provider, people sign in with the company's account, the audit names the person,
                  and an approval can demand certain people.
                </Empty>
              )}
              {data.providers.map((provider) => (
                <ProviderCard key={provider.id} provider={provider} onEdit={() => setOpen(provider)} />
              ))}
              {open !== undefined && (
                <ProviderDialog provider={open === 'new' ? undefined : open} onClose={() => setOpen(undefined)} />
              )}
            </Section>
          )}
        </Read>
      ) : (
        <NeedsAdmin what="Sign-in providers" why={why} />
      )}
    </SettingsFrame>
  );
}

/**
 * Opens a sign-in in another tab. The tab is opened before the answer, because browsers block tabs that open later, and
 * it must not reach this page.
 */
async function testSignIn(id: string): Promise<void> {
  const tab = window.open('about:blank', '_blank');
  if (tab === null) {
    toastError('The test was not opened', new Error('The browser blocked the tab. Allow pop-ups of this page'));
    return;
  }
  tab.opener = null;
  try {
    tab.location.href = (await client.testIdentityProvider({ params: { id } })).url;
  } catch (error) {
    tab.close();
    toastError('The test could not start', error);
  }
}

function ProviderCard({ provider, onEdit }: { provider: IdentityProvider; onEdit: () => void }) {
  const { id, name, issuer, clientId, enabled, required, readOnly, redirectUri, mapping, require, defaultRole } =
    provider;
  const [requiring, setRequiring] = useState(false);
  return (
    <Section
      title={visibleName(name)}
      note={
        <span className="tags">
          <span className={`tag ${enabled ? 'good' : ''}`}>{enabled ? 'enabled' : 'disabled'}</span>
          {required && <span className="tag acc">required</span>}
          {readOnly && <span className="tag">from the environment</span>}
        </span>
      }
      link={
        <span className="btns ml">
          <Act scope="admin" kind="sm" disabled={redirectUri === undefined} onPress={() => void testSignIn(id)}>
            Test sign-in
          </Act>
          {!readOnly && (
            <>
              <Act scope="admin" kind="sm" onPress={() => setRequiring(true)}>
                {required ? 'No longer require…' : 'Require…'}
              </Act>
              <Act scope="admin" kind="sm" onPress={onEdit}>
                Edit…
              </Act>
            </>
          )}
        </span>
      }
    >
      {redirectUri === undefined && (
        <Note tone="warn" icon={<Icon name="warnt" size={14} />}>
          No person can use it: the operator of the platform has to set <code>AGENTLENS_PUBLIC_URL</code>.
        </Note>
      )}
      <Facts
        facts={[
          ['Issuer', visible(issuer)],
          ['Client', visible(clientId)],
          redirectUri !== undefined && [
            'Redirect address',
            <span key="r" className="row">
              <span className="mono">{redirectUri}</span> <Copy text={redirectUri} />
            </span>,
          ],
          require.length > 0 && [
            'Only accounts with',
            require.map(({ claim, in: values }) => `${claimText(claim)} = ${values.join(' or ')}`).join(', '),
          ],
          ['Other people', defaultRole === undefined ? 'may not sign in' : `get the role ${defaultRole}`],
        ]}
      />
      {mapping.length > 0 && (
        <table className="tb flush">
          <thead>
            <tr>
              <th>Claim</th>
              <th>Equals</th>
              <th className="w100">Gives</th>
            </tr>
          </thead>
          <tbody>
            {mapping.map((line) => (
              <tr key={JSON.stringify(line)}>
                <td className="mono">{visible(claimText(line.claim))}</td>
                <td className="mono">{visible(line.is)}</td>
                <td>
                  {line.role === undefined
                    ? `member of ${line.team}`
                    : grantText({ role: line.role, ...(line.team === undefined ? {} : { team: line.team }) })}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {requiring && <RequireDialog provider={provider} onClose={() => setRequiring(false)} />}
    </Section>
  );
}
