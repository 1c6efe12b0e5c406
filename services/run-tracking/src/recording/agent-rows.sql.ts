/** From `fresh` and `run_moves` to `agent_rows`: what was heard of agents, and what they registered. */
export const AGENT_ROWS = `
agent_input as (
  select tenant_id, agent_id, min(first_at) as first_seen_at, max(last_at) as last_seen_at,
    (array_agg(agent_name order by last_place desc) filter (where agent_name is not null))[1] as name,
    max(last_place) filter (where agent_name is not null) as name_place,
    sum(runs) as run_count, sum(events) as event_count, sum(errors) as error_count, sum(cost_usd) as cost_usd
  from (
    select tenant_id, agent_id, first_at, last_at, agent_name, last_place, 0 as runs, events, errors, cost_usd
    from cells
    union all
    select tenant_id, agent_id, null, null, null, null, sum(runs), 0, 0, 0
    from run_moves group by tenant_id, agent_id having sum(runs) <> 0
  ) as parts
  group by tenant_id, agent_id
),
registered as materialized (
  select tenant_id, agent_id, place,
    case when jsonb_typeof(payload->'slug') = 'string' and char_length(payload->>'slug') between 1 and 256
      then payload->>'slug' end as slug,
    case when jsonb_typeof(payload->'description') = 'string' then payload->>'description' end as description,
    case when jsonb_typeof(payload->'tags') = 'array' then array(
      select tag #>> '{}' from jsonb_array_elements(payload->'tags') with ordinality as tags(tag, nth)
      where jsonb_typeof(tag) = 'string' order by nth) end as tags,
    case when jsonb_typeof(payload->'tools') = 'array' then payload->'tools' end as tools
  from fresh where kind = 'agent.registered'
),
agent_said as (
  select tenant_id, agent_id, min(slug collate "C") as slug,
    (array_agg(description order by place desc) filter (where description is not null))[1] as description,
    max(place) filter (where description is not null) as description_place,
    -- As JSON: arrays of several lengths cannot be aggregated.
    (array_agg(to_jsonb(tags) order by place desc) filter (where tags is not null))[1] as tags,
    max(place) filter (where tags is not null) as tags_place
  from registered group by tenant_id, agent_id
),
agent_tools as (
  select tenant_id, agent_id, jsonb_agg(tool order by name) as tools, jsonb_object_agg(name, place) as tool_places
  from (
    select *, row_number() over (partition by tenant_id, agent_id order by name) as nth
    from (
      select distinct on (tenant_id, agent_id, name) *
      from (
        select tenant_id, agent_id, (tool->>'name') collate "C" as name, tool,
          (place || '/' || lpad((nth - 1)::text, 5, '0')) collate "C" as place
        from registered cross join lateral jsonb_array_elements(tools) with ordinality as listed(tool, nth)
        where jsonb_typeof(tool->'name') = 'string'
      ) as named order by tenant_id, agent_id, name, place desc
    ) as newest
  ) as counted where nth <= 1000 group by tenant_id, agent_id
),
agent_rows as (
  insert into agents as a (tenant_id, agent_id, name, name_place, first_seen_at, last_seen_at, run_count, event_count,
    error_count, cost_usd, slug, description, description_place, tags, tags_place, tools, tool_places)
  select tenant_id, agent_id, name, name_place, coalesce(first_seen_at, 'infinity'), coalesce(last_seen_at, '-infinity'),
    run_count, event_count, error_count, cost_usd, slug, description, description_place,
    array(select jsonb_array_elements_text(coalesce(tags, '[]'))), tags_place, coalesce(tools, '[]'),
    coalesce(tool_places, '{}')
  from agent_input left join agent_said using (tenant_id, agent_id) left join agent_tools using (tenant_id, agent_id)
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
    (tools, tool_places) = (
      select case when excluded.tools = '[]' then a.tools else coalesce(jsonb_agg(tool order by name), '[]') end,
        case when excluded.tools = '[]' then a.tool_places else coalesce(jsonb_object_agg(name, place), '{}') end
      from (
        select name, tool, place, row_number() over (order by name) as nth
        from (
          select distinct on (name) name, tool, place
          from (
            select (tool->>'name') collate "C" as name, tool, (a.tool_places->>(tool->>'name')) collate "C" as place
            from jsonb_array_elements(a.tools) as tool where excluded.tools <> '[]'
            union all
            select (tool->>'name') collate "C", tool, (excluded.tool_places->>(tool->>'name')) collate "C"
            from jsonb_array_elements(excluded.tools) as tool where excluded.tools <> '[]'
          ) as together order by name, place desc
        ) as newest
      ) as counted where nth <= 1000)
  returning 1
)`;
