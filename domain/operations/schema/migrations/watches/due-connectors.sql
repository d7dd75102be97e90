-- The actor of an active connector without a schedule waits for a message, and would not begin to watch its source before.
-- The sweep wakes those that are due. It runs in workers of the earlier version, too, which would plan no watch: so it
-- leaves these connectors alone for as long as the workers are being replaced.
update connectors set due_at = now() + interval '15 minutes'
where provider_slug = 'mcp' and status = 'active' and due_at is null;
