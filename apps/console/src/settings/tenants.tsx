import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { client } from '../api/client.ts';
import { useRead } from '../live-data/live-store.ts';
import { useMe } from '../shell/me.tsx';
import { Read } from '../ui/faces.tsx';
import { Moment } from '../ui/moment.tsx';
import { Section } from '../ui/section.tsx';
import { ShownOnce } from '../ui/shown-once.tsx';
import { toastError } from '../ui/toast.tsx';

/** Tenants, for the platform key only. It cannot read their data. */
export function Tenants() {
  const { scopes } = useMe();
  return (
    <Section title="Tenants">
      {scopes.includes('platform') ? (
        <TenantList />
      ) : (
        <p className="hint topped">
          Tenants are made with the platform key, which was printed at the first start beside the admin key. It sees no
          tenant's data.
        </p>
      )}
    </Section>
  );
}

function TenantList() {
  const queries = useQueryClient();
  const tenants = useRead(['tenants'], (signal) => client.listTenants({ query: { limit: 200 }, signal }));
  const [id, setId] = useState('');
  const [key, setKey] = useState<string>();
  const make = async () => {
    try {
      const made = await client.createTenant({ body: { id: id.trim() } });
      setKey(made.adminKey.key);
      setId('');
      await queries.invalidateQueries({ queryKey: ['tenants'] });
    } catch (error) {
      toastError('The tenant was not created', error);
    }
  };
  return (
    <>
      {key !== undefined && (
        <ShownOnce secret={key} onTaken={() => setKey(undefined)}>
          Admin key
        </ShownOnce>
      )}
      <form
        className="row wrap topped"
        onSubmit={(event) => {
          event.preventDefault();
          if (id.trim() !== '') void make();
        }}
      >
        <label className="row">
          <span className="t2">New tenant</span>
          <input className="in" value={id} maxLength={64} onChange={(event) => setId(event.target.value)} />
        </label>
        <button type="submit" className="b" aria-disabled={id.trim() === '' || undefined}>
          Make tenant
        </button>
      </form>
      <Read read={tenants} what="Tenants" rows={3}>
        {(data) => (
          <table className="tb flush">
            <thead>
              <tr>
                <th>Tenant</th>
                <th>Name</th>
                <th className="r">Made</th>
              </tr>
            </thead>
            <tbody>
              {data.tenants.map((tenant) => (
                <tr key={tenant.id}>
                  <td className="mono">{tenant.id}</td>
                  <td className="w100 clip t2">{tenant.name}</td>
                  <td className="r t3">
                    <Moment at={tenant.createdAt} short />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </Read>
    </>
  );
}
