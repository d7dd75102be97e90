/**
 * SQL for the SHA-256 of an event `e`, over all of its stored columns. Personal data is digested in its sealed form,
 * so erasing a key changes no digest. Uses PostgreSQL's own functions only: a verifier supplies this text and trusts
 * no function of the database's owner.
 */
export const eventDigest = `pg_catalog.sha256(pg_catalog.convert_to(pg_catalog.jsonb_build_array(
  e.tenant_id, e.id, e.category, e.event_type, e.actor_id, e.actor_name, e.actor_email, e.resource_type,
  e.resource_id, e.metadata, (extract(epoch from e.created_at) * 1000)::bigint, e.transaction_id::text)::text, 'UTF8'))`;

/** SQL for the head of a chain after one more batch; the batch's month (UTC) is in milliseconds since 1970. */
export const nextHead = (head: string, batch: { seq: string; month: string; digest: string }): string =>
  `pg_catalog.sha256(${head} || pg_catalog.int8send(${batch.seq})
    || pg_catalog.int8send((extract(epoch from ${batch.month}) * 1000)::bigint) || ${batch.digest})`;
