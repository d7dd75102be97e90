-- Erasure of tenants.

-- Whether no other tenant has a row in the partition. Its owner sees rows by the policy `lone` alone, and without that
-- policy none, also not this tenant's.
create or replace function app.is_lone_partition(p_tenant uuid, p_partition regclass) returns boolean
language plpgsql as $$
declare
  lone boolean;
begin
  execute format('select exists (select from %1$s where tenant_id = $1)
    and not exists (select from %1$s where tenant_id < $1) and not exists (select from %1$s where tenant_id > $1)',
    p_partition) into lone using p_tenant;
  return lone;
end $$;

-- Empties a partition if all its rows are of the transaction's tenant, and returns how many they were; 0 if others
-- share it, with nothing changed and without a lock that anybody waits for.
create or replace function app.empty_lone_partition(p_partition text) returns bigint
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
  tenant uuid := nullif(current_setting('app.tenant_id', true), '')::uuid;
  part regclass := (select i.inhrelid from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where c.relnamespace = 'public'::regnamespace and c.relname = p_partition);
  n bigint := 0;
begin
  if not app.is_lone_partition(tenant, part) then
    return 0;
  end if;
  execute format('select count(*) from %s', part) into n;
  execute format('lock table %s in access exclusive mode', part);
  if not app.is_lone_partition(tenant, part) then
    return 0;
  end if;
  execute format('truncate table %s', part);
  return n;
end $$;

-- Calls what a batch writes beside its rows: a function of this schema that takes the tenant, an id, a table and a number.
create or replace function app.note_batch(p_tenant uuid, p_note text, p_id uuid, p_table text, p_rows bigint)
returns void language plpgsql as $$
begin
  if p_note is not null and p_rows > 0 then
    execute format('select app.%I($1, $2, $3, $4)', p_note) using p_tenant, p_id, p_table, p_rows;
  end if;
end $$;

-- Erases rows of one table behind the key p_after, piece by piece: p_find names the last key of a piece, p_erase erases
-- up to it. Begins with p_size rows and goes on with as many as p_aim_ms allow, until that time has passed; p_once: one
-- piece. Returns the rows, the key to go on behind, null at the end of the table, and size and cost of a row to go on with.
-- Foreign keys are checked by an index also where the tenant has most rows of a table: a scan of it reads all others' rows.
create or replace function app.erase_batch(
  p_tenant uuid, p_find text, p_erase text, p_after jsonb, p_size integer, p_row_ms double precision,
  p_aim_ms integer, p_once boolean, p_note text, p_note_id uuid, p_table text)
returns table (rows bigint, last jsonb, size integer, row_ms double precision) language plpgsql
set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  max_size constant integer := 20000;
  begun constant timestamptz := clock_timestamp();
  behind text[];
  up_to text[] := case when p_after is not null then array(select jsonb_array_elements_text(p_after)) end;
  piece_begun timestamptz;
  piece_rows bigint;
begin
  perform set_config('app.tenant_id', p_tenant::text, true);
  rows := 0;
  size := p_size;
  row_ms := p_row_ms;
  loop
    piece_begun := clock_timestamp();
    behind := up_to;
    up_to := null;
    if p_find is not null then
      execute p_find into up_to using p_tenant, behind, size;
    end if;
    execute p_erase using p_tenant, behind, up_to;
    get diagnostics piece_rows = row_count;
    rows := rows + piece_rows;
    -- A piece that waited for a processor says little of its rows: what one costs rises slowly and falls at once.
    row_ms := greatest(0.001, least(1.25 * row_ms, extract(epoch from clock_timestamp() - piece_begun) * 1000 / size));
    size := greatest(1, least(size * 8, p_aim_ms / row_ms, max_size));
    exit when up_to is null or p_once or clock_timestamp() - begun >= p_aim_ms * interval '1 ms';
  end loop;
  last := to_jsonb(up_to);
  perform app.note_batch(p_tenant, p_note, p_note_id, p_table, rows);
  return next;
end $$;

-- Empties a partition at once if all its rows are of the tenant, and returns how many they were. Statements that need
-- the partition wait no longer than the time in which this one gets its lock.
create or replace function app.erase_partition(
  p_tenant uuid, p_partition text, p_note text, p_note_id uuid, p_table text) returns bigint
language plpgsql as $$
declare
  n bigint;
begin
  perform set_config('app.tenant_id', p_tenant::text, true), set_config('lock_timeout', '50ms', true);
  n := app.empty_lone_partition(p_partition);
  perform app.note_batch(p_tenant, p_note, p_note_id, p_table, n);
  return n;
end $$;

-- It truncates tables, as their owner.
select pg_temp.secure_function('app.is_lone_partition(uuid,regclass)', 'app_owner', '{}');
select pg_temp.secure_function('app.empty_lone_partition(text)', 'app_owner', '{app_purge}');
