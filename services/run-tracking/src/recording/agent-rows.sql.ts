/** Of the tools that the row and the addition name, the one that was named later each, up to the most there may be. */
const TOGETHER = `(
        select name, tool, place, row_number() over (order by name) as nth
        from (
          select distinct on (name) name, tool, place
          from (
            select (tool->>'name') collate "C" as name, tool, (a.tool_places->>(tool->>'name')) collate "C" as place
            from jsonb_array_elements(a.tools) as tool
            union all
            select (tool->>'name') collate "C", tool, (excluded.tool_places->>(tool->>'name')) collate "C"
            from jsonb_array_elements(excluded.tools) as tool
          ) as each_tool order by name, place desc
        ) as newest
      ) as counted where nth <= 1000`;

/** From `$2`, an array of `agent_row`, and `run_moves` to `agent_rows`. */
export const AGENT_ROWS = `
agent_rows as (
  insert into agents as a (tenant_id, agent_id, name, name_place, first_seen_at, last_seen_at, run_count, event_count,
    error_count, cost_usd, slug, description, description_place, tags, tags_place, tools, tool_places)
  select tenant_id, agent_id, name, name_place, coalesce(first_seen_at::timestamptz, 'infinity'),
    coalesce(last_seen_at::timestamptz, '-infinity'),
    coalesce(moved.runs, 0), coalesce(event_count, 0), coalesce(error_count, 0), coalesce(cost_usd::numeric, 0), slug,
    description, description_place, coalesce(tags, '{}'), tags_place, coalesce(tools, '[]'), coalesce(tool_places, '{}')
  from unnest($2::agent_row[]) as told
  full join (
    select tenant_id, agent_id, sum(runs) as runs from run_moves group by tenant_id, agent_id having sum(runs) <> 0
  ) as moved using (tenant_id, agent_id)
  order by tenant_id, agent_id
  on conflict (tenant_id, agent_id) do update set
    name = case when a.name_place > excluded.name_place or excluded.name_place is null then a.name else excluded.name end,
    name_place = greatest(a.name_place, excluded.name_place),
    first_seen_at = least(a.first_seen_at, excluded.first_seen_at),
    last_seen_at = greatest(a.last_seen_at, excluded.last_seen_at),
    run_count = a.run_count + excluded.run_count, event_count = a.event_count + excluded.event_count,
    error_count = a.error_count + excluded.error_count, cost_usd = a.cost_usd + excluded.cost_usd,
    slug = least(a.slug collate "C", excluded.slug),
    description = case when a.description_place > excluded.description_place or excluded.description_place is null
      then a.description else excluded.description end,
    description_place = greatest(a.description_place, excluded.description_place),
    tags = case when a.tags_place > excluded.tags_place or excluded.tags_place is null then a.tags else excluded.tags end,
    tags_place = greatest(a.tags_place, excluded.tags_place),
    -- Hardly an event registers tools; for the others the two are not looked into.
    tools = case when excluded.tools = '[]' then a.tools else (
      select jsonb_agg(tool order by name) from ${TOGETHER}) end,
    tool_places = case when excluded.tools = '[]' then a.tool_places else (
      select jsonb_object_agg(name, place) from ${TOGETHER}) end
  returning 1
)`;
