/** From `$3`, an array of `day_row`, and `run_moves` to rows of days. */
export const DAY_ROWS = `
  insert into agent_daily as d (tenant_id, agent_id, day, event_count, error_count, tool_call_count, tool_error_count,
    llm_call_count, input_tokens, output_tokens, cost_usd, run_count, run_error_count, run_succeeded_count,
    run_duration_ms, run_cost_usd)
  select tenant_id, agent_id, day, coalesce(event_count, 0), coalesce(error_count, 0), coalesce(tool_call_count, 0),
    coalesce(tool_error_count, 0), coalesce(llm_call_count, 0), coalesce(input_tokens, 0), coalesce(output_tokens, 0),
    coalesce(cost_usd, 0), coalesce(runs, 0), coalesce(failed, 0), coalesce(completed, 0), coalesce(ms, 0),
    coalesce(usd, 0)
  from (
    select tenant_id, agent_id, day::date, event_count, error_count, tool_call_count, tool_error_count, llm_call_count,
      input_tokens, output_tokens, cost_usd::numeric
    from unnest($3::day_row[])
  ) as told
  full join (
    select tenant_id, agent_id, day, sum(runs) as runs, sum(failed) as failed, sum(completed) as completed,
      sum(ms) as ms, sum(usd) as usd
    from run_moves group by tenant_id, agent_id, day
  ) as moved using (tenant_id, agent_id, day)
  -- Always true; what it says is that the agents come before their days.
  where (select count(*) from agent_rows) >= 0
  order by tenant_id, agent_id, day
  on conflict (tenant_id, agent_id, day) do update set
    event_count = d.event_count + excluded.event_count, error_count = d.error_count + excluded.error_count,
    tool_call_count = d.tool_call_count + excluded.tool_call_count,
    tool_error_count = d.tool_error_count + excluded.tool_error_count,
    llm_call_count = d.llm_call_count + excluded.llm_call_count,
    input_tokens = d.input_tokens + excluded.input_tokens, output_tokens = d.output_tokens + excluded.output_tokens,
    cost_usd = d.cost_usd + excluded.cost_usd, run_count = d.run_count + excluded.run_count,
    run_error_count = d.run_error_count + excluded.run_error_count,
    run_succeeded_count = d.run_succeeded_count + excluded.run_succeeded_count,
    run_duration_ms = d.run_duration_ms + excluded.run_duration_ms, run_cost_usd = d.run_cost_usd + excluded.run_cost_usd`;
