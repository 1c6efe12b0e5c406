/**
 * Common table expressions that follow the removal of decisions, which the expression `removed` returns as
 * `tenant_id, decision_id`. Their payloads and salts go with them, and an entry names the removed positions, so that
 * the check of the log tells a removal from a tampering.
 *
 * @param kind `erasure` if a person or a program asked for it, `retention` if they were past retention
 */
export function followRemoval(kind: 'erasure' | 'retention', removed: string): string {
  return `
  unsalted as (
    delete from log_payloads p using ${removed} r
    where p.tenant_id = r.tenant_id and p.kind = 'decision' and p.entry_id = r.decision_id
    returning p.tenant_id, p.index
  ),
  never_sealed as (
    delete from log_pending p using ${removed} r
    where p.tenant_id = r.tenant_id and p.kind = 'decision' and p.entry_id = r.decision_id
  ),
  ${noteRemoval(kind, 'payload', 'unsalted')}`;
}

/** Adds an entry for each tenant that names the positions which `removed` returns as `tenant_id, index`. */
export function noteRemoval(kind: 'erasure' | 'retention', what: 'payload' | 'members', removed: string): string {
  return `
  removed_ranges as (
    select tenant_id, min(index) as first, max(index) as last from (
      select tenant_id, index, index - row_number() over (partition by tenant_id order by index) as island from ${removed}
    ) as islands group by tenant_id, island
  ),
  noted_removal as (
    insert into log_pending (tenant_id, kind, entry_id, at, payload)
    select tenant_id, '${kind}', gen_random_uuid()::text, now(), jsonb_build_object(
      'removed', '${what}', 'entries', sum(last - first + 1),
      'ranges', jsonb_agg(jsonb_build_array(first, last) order by first))
    from removed_ranges group by tenant_id
  )`;
}
