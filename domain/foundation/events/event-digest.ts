/**
 * SQL for the SHA-256 of an event `e`, over everything that is stored of it; what is personal counts as it is
 * stored, sealed, so that erasing a key changes no digest. Built of PostgreSQL's own functions alone: whoever
 * verifies brings this text along and trusts no function of the database's owner.
 */
export const eventDigest = `pg_catalog.sha256(pg_catalog.convert_to(pg_catalog.jsonb_build_array(
  e.tenant_id, e.id, e.category, e.event_type, e.actor_id, e.actor_name, e.actor_email, e.resource_type,
  e.resource_id, e.metadata, (extract(epoch from e.created_at) * 1000)::bigint, e.transaction_id::text)::text, 'UTF8'))`;

/** SQL for the head of a chain behind one more batch, whose month (UTC) counts as milliseconds since 1970. */
export const nextHead = (head: string, batch: { seq: string; month: string; digest: string }): string =>
  `pg_catalog.sha256(${head} || pg_catalog.int8send(${batch.seq})
    || pg_catalog.int8send((extract(epoch from ${batch.month}) * 1000)::bigint) || ${batch.digest})`;
