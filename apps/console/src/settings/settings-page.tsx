import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { client } from '../api/client.ts';
import { useRead } from '../live-data/live-store.ts';
import { useMay, useMe } from '../shell/me.tsx';
import { Page } from '../shell/page.tsx';
import { Act } from '../ui/act.tsx';
import { Read } from '../ui/faces.tsx';
import { Facts, Section } from '../ui/section.tsx';
import { applyLook, store, stored } from '../ui/stored.ts';
import { toast, toastError } from '../ui/toast.tsx';
import { Keys } from './keys.tsx';

export function SettingsPage() {
  const me = useMe();
  const { may } = useMay('admin');
  return (
    <Page name="settings" title="Settings" time="Now">
      <div className="pad">
        <Section first title="You">
          <Facts
            facts={[
              ['Tenant', me.tenantId],
              ['Key', me.keyName],
              ['It may', me.scopes.join(', ')],
            ]}
          />
          <div className="btns topped">
            <button
              type="button"
              className="b"
              onClick={() => void client.endSession().then(() => location.assign(new URL('.', document.baseURI)))}
            >
              Sign out
            </button>
          </div>
        </Section>
        <Look />
        <Tenant />
        {may ? (
          <Keys />
        ) : (
          <Section title="API keys">
            <p className="hint topped">Keys are shown to a key with the scope admin.</p>
          </Section>
        )}
      </div>
    </Page>
  );
}

const THEMES = [
  ['', 'As the system'],
  ['light', 'Light'],
  ['dark', 'Dark'],
] as const;

/** Kept in this browser only. */
function Look() {
  const [theme, setTheme] = useState(stored('theme'));
  const [density, setDensity] = useState(stored('density'));
  const [zone, setZone] = useState(stored('zone'));
  const local = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return (
    <Section title="Look" note="of this browser">
      <div className="row wrap topped">
        <div className="seg" role="group" aria-label="Theme">
          {THEMES.map(([id, name]) => (
            <button
              key={id}
              type="button"
              aria-pressed={theme === id}
              onClick={() => {
                store('theme', id);
                setTheme(id);
                applyLook();
              }}
            >
              {name}
            </button>
          ))}
        </div>
        <div className="seg" role="group" aria-label="Density">
          {[
            ['', 'Compact'],
            ['comfortable', 'Comfortable'],
          ].map(([id = '', name]) => (
            <button
              key={id}
              type="button"
              aria-pressed={density === id}
              onClick={() => {
                store('density', id);
                setDensity(id);
                applyLook();
              }}
            >
              {name}
            </button>
          ))}
        </div>
        <label className="row">
          <span className="t2">Times in</span>
          <select
            className="in"
            value={zone}
            onChange={(event) => {
              store('zone', event.target.value);
              setZone(event.target.value);
              location.reload();
            }}
          >
            <option value="">{local}, as this machine</option>
            {['UTC', ...Intl.supportedValuesOf('timeZone')].map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
      </div>
    </Section>
  );
}

function Tenant() {
  const queries = useQueryClient();
  const settings = useRead(['settings'], (signal) => client.getSettings({ signal }));
  const set = async (decisionFailMode: 'allow' | 'block') => {
    try {
      await client.updateSettings({ body: { decisionFailMode } });
      await queries.invalidateQueries();
      toast('In force everywhere within 5 seconds');
    } catch (error) {
      toastError('Not changed', error);
    }
  };
  return (
    <Section title="Tenant">
      <Read read={settings} what="The tenant's settings" rows={2}>
        {(data) => (
          <div className="row wrap topped">
            <span className="t2">A call that nobody could judge in time</span>
            <Act scope="admin" kind={data.decisionFailMode === 'allow' ? 'pri' : ''} onPress={() => void set('allow')}>
              is let pass
            </Act>
            <Act scope="admin" kind={data.decisionFailMode === 'block' ? 'pri' : ''} onPress={() => void set('block')}>
              is blocked
            </Act>
          </div>
        )}
      </Read>
    </Section>
  );
}
