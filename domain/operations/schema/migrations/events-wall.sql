-- The sealing step works as app_purge: who serves requests reads the chain and its counts and writes neither.
revoke insert, update, delete on event_chains, event_seals, event_counts, event_resource_counts from app_rt;

create policy system on events for select to app_system using (true);
create policy system on event_chains for select to app_system using (true);
create policy system on principals for select to app_system using (true);
grant select (tenant_id, id, transaction_id) on events to app_system;
grant select (tenant_id, last_transaction_id, last_event_id, retained_from) on event_chains to app_system;
grant select (tenant_id, name, email, sealed_name, sealed_email) on principals to app_system;

-- The runtime role reaches them through their parent alone; the purge role takes from events_past what never had a month.
revoke all on events_past, events_future from app_rt;
revoke all on events_future from app_purge;
revoke insert, update on events_past from app_purge;

-- From the beginning, so that nothing has to wait for its month.
do $$ begin
  while app.maintain_partitions() loop
    null;
  end loop;
end $$;
