/**
 * Removes the contents of an event's payload and metadata. Keeps what metrics and trees need and the fact that there
 * was an error, but no text of a person or model.
 */
export const WITHOUT_CONTENTS = `content_expired = true,
    payload = jsonb_strip_nulls(jsonb_build_object(
      'type', case when kind = 'custom.recorded' then payload->'type' end,
      'countedAs', payload->'countedAs', 'by', payload->'by', 'agentName', payload->'agentName',
      'durationMs', payload->'durationMs',
      'error', case when payload->>'error' is not null then 'removed' end)),
    metadata = jsonb_strip_nulls(jsonb_build_object('otlp', case when metadata->'otlp' is not null
      then jsonb_build_object('traceId', metadata#>'{otlp,traceId}', 'spanId', metadata#>'{otlp,spanId}',
        'parentSpanId', metadata#>'{otlp,parentSpanId}') end))`;
